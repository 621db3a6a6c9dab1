import { accessSync, constants } from "node:fs";
import nodeModule from "node:module";
import { homedir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

/** What `node:module` has since Node 22.8. */
interface CompileCache {
  readonly enableCompileCache?: (directory: string) => unknown;
}

const { enableCompileCache }: CompileCache = nodeModule as CompileCache & typeof nodeModule;

/**
 * Keeps the compiled code of the program between starts (Node 22.8 and newer), which Node writes when
 * the process exits: in the folder
 * `cache` beside the bundle, or in the user's cache folder if that one is read-only. The shared
 * folder for temporary files, Node's default, would let other users of the host supply code.
 * Without a writable folder the program starts as it does without a cache.
 */
export function enableCodeCache(): void {
  const program = fileURLToPath(import.meta.url);
  // A single executable has a code cache of its own.
  if (program.endsWith(".js")) enableCompileCache?.(cacheFolder(path.dirname(program)));
}

function cacheFolder(bundle: string): string {
  if (isWritable(bundle)) return path.join(bundle, "cache");
  const user = process.env["XDG_CACHE_HOME"] || path.join(homedir(), ".cache");
  return path.join(user, "keelson");
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
