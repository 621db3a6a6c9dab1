import { accessSync, constants } from "node:fs";
import nodeModule from "node:module";
import { homedir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

/** API of `node:module` since Node 22.8. */
interface CompileCache {
  readonly enableCompileCache?: (directory: string) => unknown;
}

const { enableCompileCache }: CompileCache = nodeModule as CompileCache & typeof nodeModule;

/** Whether the code cache is enabled; NODE_DISABLE_COMPILE_CACHE disables it. */
export const isCodeCached = !process.env["NODE_DISABLE_COMPILE_CACHE"];

/**
 * Keeps the compiled code of npm packages outside of the bundle between starts (Node 22.8 and newer),
 * which Node writes when the process exits. `load-chunk.ts` does so for the bundle.
 */
export function enableCodeCache(): void {
  const program = fileURLToPath(import.meta.url);
  // A single executable has a code cache of its own.
  if (program.endsWith(".js")) enableCompileCache?.(cacheFolder(path.dirname(program)));
}

/**
 * Where compiled code is looked up: the folder `cache` beside the bundle, which the build fills, and
 * the user's cache folder. The shared folder for temporary files, Node's default, would let other
 * users of the host supply code.
 */
export function cacheFolders(bundle: string): readonly [string, string] {
  const user = process.env["XDG_CACHE_HOME"] || path.join(homedir(), ".cache");
  return [path.join(bundle, "cache"), path.join(user, "keelson")];
}

/** Where compiled code is written: beside the bundle if that folder is writable. */
export function cacheFolder(bundle: string): string {
  const [built, ofUser] = cacheFolders(bundle);
  return isWritable(bundle) ? built : ofUser;
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
