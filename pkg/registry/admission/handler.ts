import { append } from "#base";
import type { RegistryContext } from "../context.ts";
import type { AdmissionAttributes, AdmissionHandler } from "../contract.ts";
import { managedFieldsOf, restoreManagedFields } from "../write/managed-fields.ts";

/** Mutating and validating admission at once, for objects that do not take the write path. */
export async function runAdmission(
  registry: Pick<RegistryContext, "mutating" | "validating">,
  attributes: AdmissionAttributes,
  warnings: string[],
): Promise<void> {
  const before = managedFieldsOf(attributes);
  await runHandlers(registry.mutating, attributes, warnings);
  append(warnings, restoreManagedFields(attributes, before));
  await runHandlers(registry.validating, attributes, warnings);
}

/**
 * Runs the handlers in order and adds their warnings to `warnings`. Returns undefined if none of
 * them waits.
 */
export function runHandlers(
  steps: readonly AdmissionHandler[],
  attributes: AdmissionAttributes,
  warnings: string[],
  pause?: () => Promise<void> | undefined,
): Promise<void> | undefined {
  const ask = (step: AdmissionHandler) => step(attributes);
  return pause === undefined
    ? runEach(steps, ask, warnings)
    : runInTurns(steps, ask, { warnings, pause });
}

/** Runs the handlers on an object that is large: others have a turn after each that took long. */
async function runInTurns(
  steps: readonly AdmissionHandler[],
  ask: (step: AdmissionHandler) => ReturnType<AdmissionHandler>,
  {
    warnings,
    pause,
  }: { readonly warnings: string[]; readonly pause: () => Promise<void> | undefined },
): Promise<void> {
  for (const step of steps) {
    const answer = ask(step);
    if (answer !== undefined) append(warnings, await answer);
    await pause();
  }
}

/** As `runHandlers`, for steps that are no handlers themselves. */
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
