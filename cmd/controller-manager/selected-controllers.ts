import { type ControllerDescriptor, selectControllers } from "#controllers";
import { UsageError } from "../flags/parse.ts";

/**
 * The controllers that `--controllers` selects; an empty list selects those that are enabled by
 * default.
 * @throws UsageError that names an unknown controller
 */
export function selectedControllers(words: readonly string[]): readonly ControllerDescriptor[] {
  try {
    return selectControllers(words.length === 0 ? ["*"] : words);
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(`--controllers: ${error.message}`);
    throw error;
  }
}
