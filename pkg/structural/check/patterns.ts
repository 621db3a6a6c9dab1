import { compilePattern, CelFault } from "#cel";
import { memoize } from "#base";
import type { JsonSchema } from "../schema/json-schema.ts";

/** A compiled `pattern` with RE2 semantics and linear time. */
interface Pattern {
  /** Undefined if the text contains a match, else the pattern for the error message. */
  readonly fault: (text: string) => string | undefined;
}

/** The compiled pattern of a schema that has one. */
export const patternOf = memoize(({ pattern = "" }: JsonSchema): Pattern => {
  try {
    const compiled = compilePattern(pattern);
    return { fault: (text) => (compiled.test(text) ? undefined : pattern) };
  } catch (error) {
    if (!(error instanceof CelFault)) throw error;
    // Only in definitions stored before patterns were validated.
    return { fault: () => `${pattern}, but pattern is invalid: ${error.message}` };
  }
});
