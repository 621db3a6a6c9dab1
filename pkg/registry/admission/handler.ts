import { append } from "#base";
import type { AdmissionAttributes, Admit } from "../contract.ts";

/**
 * Asks one step after another; what they warn of is added to `warnings`. Undefined when none had
 * anything to do.
 */
export function admitBy(
  steps: readonly Admit[],
  attributes: AdmissionAttributes,
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
