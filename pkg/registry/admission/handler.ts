import { append } from "#base";
import type { RegistryContext } from "../context.ts";
import type { AdmissionAttributes, AdmissionHandler } from "../contract.ts";
import { managedFieldsOf, restoreManagedFields } from "../write/managed-fields.ts";

/** Runs mutating and validating admission for objects outside of the write pipeline. */
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
 * Runs the handlers in order and adds their warnings to `warnings`. Returns undefined if no handler
 * returns a promise.
 */
export function runHandlers(
  steps: readonly AdmissionHandler[],
  attributes: AdmissionAttributes,
  warnings: string[],
  pause?: () => Promise<void> | undefined,
): Promise<void> | undefined {
  const call = (step: AdmissionHandler) => step(attributes);
  return pause === undefined
    ? runEach(steps, call, warnings)
    : runInTurns(steps, call, { warnings, pause });
}

/** Runs the handlers on a large object; `pause` yields to other requests after a long handler. */
async function runInTurns(
  steps: readonly AdmissionHandler[],
  call: (step: AdmissionHandler) => ReturnType<AdmissionHandler>,
  {
    warnings,
    pause,
  }: { readonly warnings: string[]; readonly pause: () => Promise<void> | undefined },
): Promise<void> {
  for (const step of steps) {
    const pending = call(step);
    if (pending !== undefined) append(warnings, await pending);
    await pause();
  }
}

/** As `runHandlers`, for any kind of step, run by `call`. */
export function runEach<Step>(
  steps: readonly Step[],
  call: (step: Step) => ReturnType<AdmissionHandler>,
  warnings: string[],
): Promise<void> | undefined {
  for (let index = 0; index < steps.length; index++) {
    const pending = call(steps[index]!);
    if (pending === undefined) continue;
    return pending.then((added) => {
      append(warnings, added);
      return runEach(steps.slice(index + 1), call, warnings);
    });
  }
  return undefined;
}
