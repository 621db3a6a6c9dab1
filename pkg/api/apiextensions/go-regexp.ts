import { CelFault, compilePattern } from "#cel";

/** Error message of Go's regexp package for a pattern; undefined if it is valid. */
export function regexpFault(pattern: string): string | undefined {
  try {
    compilePattern(pattern);
    return undefined;
  } catch (error) {
    if (error instanceof CelFault) return error.message;
    throw error;
  }
}
