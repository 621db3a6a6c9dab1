import path from "node:path";
import type { SourceFile } from "./source.ts";

/** Most source files of one folder; tests and index.ts do not count. */
export const maxFolderFiles = 15;

/** Source files by folder, without tests and index.ts. */
export function filesByFolder(files: readonly SourceFile[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const file of files) {
    if (file.isTest || path.posix.basename(file.path) === "index.ts") continue;
    const folder = path.posix.dirname(file.path);
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return counts;
}
