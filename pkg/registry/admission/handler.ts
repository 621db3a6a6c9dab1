import { append } from "#base";
import type { Resource } from "#meta";
import type { Target } from "../contract.ts";
import type { AskedOptions } from "./options.ts";

/** One write as admission sees it. Objects are in hub form. */
export interface Attributes {
  readonly target: Target;
  readonly operation: "create" | "update" | "delete" | "connect";
  readonly dryRun: boolean;
  /**
   * What would be written; undefined for a deletion; of a stream, what is asked of it as JSON.
   * Mutating steps may change it in place.
   */
  readonly object: any;
  /** What is there now, with its resourceVersion; undefined for a creation. Not to be changed. */
  readonly old: any;
  /** The kind of the object where a subresource takes another than its parent's. */
  readonly spoken?: Resource;
  /** As the client gave them; absent where a subresource has none of its own. */
  readonly options?: AskedOptions | undefined;
}

/**
 * A step of admission: answers warnings for the client, or rejects with a StatusError to refuse.
 * Most steps have nothing to do with most writes, and say so at once: undefined.
 */
export type Admit = (attributes: Attributes) => Promise<readonly string[]> | undefined;

/**
 * Asks one step after another; what they warn of is added to `warnings`. Undefined when none had
 * anything to do.
 */
export function admitBy(
  steps: readonly Admit[],
  attributes: Attributes,
  warnings: string[],
): Promise<void> | undefined {
  return oneAfterAnother(steps, (step) => step(attributes), warnings);
}

/** As `admitBy`, for steps that are asked in another way. */
export function oneAfterAnother<Step>(
  steps: readonly Step[],
  ask: (step: Step) => ReturnType<Admit>,
  warnings: string[],
): Promise<void> | undefined {
  for (let index = 0; index < steps.length; index++) {
    const answer = ask(steps[index]!);
    if (answer === undefined) continue;
    return answer.then((told) => {
      append(warnings, told);
      return oneAfterAnother(steps.slice(index + 1), ask, warnings);
    });
  }
  return undefined;
}
