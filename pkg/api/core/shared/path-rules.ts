/** Rules of paths. */
import type { Path, Problems } from "#schema";

/** No step up. */
export function checkNoBacksteps(target: string, path: Path, problems: Problems): void {
  if (target.split("/").includes("..")) problems.invalid(path, target, "must not contain '..'");
}

/** A path below some directory. */
export function checkDescendingPath(target: string, path: Path, problems: Problems): void {
  if (target.startsWith("/")) problems.invalid(path, target, "must be a relative path");
  checkNoBacksteps(target, path, problems);
}

/** A path below a volume whose names starting with two dots are the node's own. */
export function checkFilePath(target: string, path: Path, problems: Problems): void {
  checkDescendingPath(target, path, problems);
  if (!target.startsWith("..") || target.split("/").includes("..")) return;
  problems.invalid(path, target, "must not start with '..'");
}

const LARGEST_MODE = 0o777;

/** Permission bits of a file; absent ones are fine. */
export function checkMode(mode: number | undefined, path: Path, problems: Problems): void {
  if (mode === undefined || (mode >= 0 && mode <= LARGEST_MODE)) return;
  problems.invalid(path, mode, "must be a number between 0 and 0777 (octal), both inclusive");
}
