/** Validation of file paths. */
import type { Path, Problems } from "#schema";

/** Rejects `..` as a path element. */
export function checkNoBacksteps(target: string, path: Path, problems: Problems): void {
  if (target.split("/").includes("..")) problems.invalid(path, target, "must not contain '..'");
}

/** Requires a relative path without `..`. */
export function checkDescendingPath(target: string, path: Path, problems: Problems): void {
  if (target.startsWith("/")) problems.invalid(path, target, "must be a relative path");
  checkNoBacksteps(target, path, problems);
}

/** Requires a relative path that does not start with `..`, which the kubelet reserves. */
export function checkFilePath(target: string, path: Path, problems: Problems): void {
  checkDescendingPath(target, path, problems);
  if (!target.startsWith("..") || target.split("/").includes("..")) return;
  problems.invalid(path, target, "must not start with '..'");
}

const maxFileMode = 0o777;

/** Validates file mode bits unless they are absent. */
export function checkMode(mode: number | undefined, path: Path, problems: Problems): void {
  if (mode === undefined || (mode >= 0 && mode <= maxFileMode)) return;
  problems.invalid(path, mode, "must be a number between 0 and 0777 (octal), both inclusive");
}
