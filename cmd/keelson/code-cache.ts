import { accessSync, constants } from "node:fs";
import nodeModule from "node:module";
import { homedir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

/** Part of the API of `node:module` in Node 22.8 and newer. */
interface CompileCache {
  readonly enableCompileCache?: (directory: string) => unknown;
}

const { enableCompileCache }: CompileCache = nodeModule as CompileCache & typeof nodeModule;

/** Whether the code cache is enabled; NODE_DISABLE_COMPILE_CACHE disables it. */
export const isCodeCached = !process.env["NODE_DISABLE_COMPILE_CACHE"];

/**
 * Enables Node's cache of compiled code for npm packages that are not bundled (Node 22.8 and
 * newer). Node writes it when the process exits. `load-chunk.ts` caches the code of the bundle.
 */
export function enableCodeCache(): void {
  const program = fileURLToPath(import.meta.url);
  // A single executable has a code cache of its own.
  if (program.endsWith(".js")) enableCompileCache?.(cacheFolder(path.dirname(program)));
}

/**
 * Directories in which compiled code is looked up: `cache` beside the bundle, which the build
 * fills, and the user's cache directory. Node's default, the shared directory for temporary files,
 * would let other users of the host supply code.
 */
export function cacheFolders(bundle: string): readonly [string, string] {
  const user = process.env["XDG_CACHE_HOME"] || path.join(homedir(), ".cache");
  return [path.join(bundle, "cache"), path.join(user, "keelson")];
}

/** Directory to which compiled code is written: the one beside the bundle if it is writable. */
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
