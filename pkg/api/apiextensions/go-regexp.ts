import { CelFault, compilePattern } from "#cel";

/** The error of Go's regexp for a pattern; undefined if it is valid. */
export function regexpFault(pattern: string): string | undefined {
  try {
    compilePattern(pattern);
    return undefined;
  } catch (error) {
    if (error instanceof CelFault) return error.message;
    throw error;
  }
}
