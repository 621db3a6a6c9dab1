import { compilePattern, CelFault } from "#cel";
import { memoize } from "#base";
import type { JsonSchema } from "../schema/json-schema.ts";

/** A pattern of a schema, with RE2's meaning and in linear time. */
interface Pattern {
  /** Undefined if the pattern is somewhere in the text, else the pattern as messages show it. */
  readonly fault: (text: string) => string | undefined;
}

/** The pattern of a schema that has one. */
export const patternOf = memoize(({ pattern = "" }: JsonSchema): Pattern => {
  try {
    const compiled = compilePattern(pattern);
    return { fault: (text) => (compiled.test(text) ? undefined : pattern) };
  } catch (error) {
    if (!(error instanceof CelFault)) throw error;
    // Of an old definition: new ones are refused for it.
    return { fault: () => `${pattern}, but pattern is invalid: ${error.message}` };
  }
});
