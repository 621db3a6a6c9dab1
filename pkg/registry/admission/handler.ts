import { append } from "#base";
import type { AdmissionAttributes, AdmissionHandler } from "../contract.ts";

/**
 * Asks one step after another; what they warn of is added to `warnings`. Undefined when none had
 * anything to do.
 */
export function runHandlers(
  steps: readonly AdmissionHandler[],
  attributes: AdmissionAttributes,
  warnings: string[],
): Promise<void> | undefined {
  return runEach(steps, (step) => step(attributes), warnings);
}

/** As `admitBy`, for steps that are asked in another way. */
export function runEach<Step>(
  steps: readonly Step[],
  ask: (step: Step) => ReturnType<AdmissionHandler>,
  warnings: string[],
): Promise<void> | undefined {
  for (let index = 0; index < steps.length; index++) {
    const answer = ask(steps[index]!);
    if (answer === undefined) continue;
    return answer.then((told) => {
      append(warnings, told);
      return runEach(steps.slice(index + 1), ask, warnings);
    });
  }
  return undefined;
}
