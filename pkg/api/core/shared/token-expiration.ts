import type { Int64, Path, Problems } from "#schema";

/** Minimum lifetime of a service account token in seconds. */
const minTokenSeconds = 10 * 60;
const maxTokenSeconds = 2 ** 32;

/** Checks the requested lifetime of a service account token, in seconds. */
export function checkTokenExpiration(seconds: Int64, path: Path, problems: Problems): void {
  if (seconds < minTokenSeconds) {
    problems.invalid(path, seconds, "may not specify a duration less than 10 minutes");
  }
  if (seconds > maxTokenSeconds) {
    problems.invalid(path, seconds, "may not specify a duration larger than 2^32 seconds");
  }
}
