import { CelFault, compilePattern } from "#cel";

/** What Go's regexp refuses of a pattern, in its words; undefined if nothing. */
export function regexpFault(pattern: string): string | undefined {
  try {
    compilePattern(pattern);
    return undefined;
  } catch (error) {
    if (error instanceof CelFault) return error.message;
    throw error;
  }
}
