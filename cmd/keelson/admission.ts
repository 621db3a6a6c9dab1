/** What every write goes through, as start options say it. */
import { type DefaultAdmission, defaultAdmission, enabledPlugins, timedStep } from "#admission";
import type { Clock } from "#base";
import type { Catalog } from "#meta";
import type { Admit, Registry } from "#registry";
import type { Instruments, Tracer } from "#request";
import type { Access } from "./access.ts";
import type { StartOptions } from "./options.ts";

export interface Admission {
  readonly mutating: readonly Admit[];
  readonly validating: readonly Admit[];
  readonly follow: DefaultAdmission["follow"];
}

export interface AdmissionFoundation {
  readonly options: StartOptions;
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** Whether a feature gate is on. */
  readonly gates: (name: string) => boolean;
  readonly access: Access;
  readonly measuring: { readonly instruments: Instruments };
  readonly tracer: Tracer;
  /** Asked for when the first request comes: the registry is made with its admission. */
  readonly registry: () => Registry;
}

export function admissionOf(from: AdmissionFoundation): Admission {
  const { options, access, measuring } = from;
  const { instruments } = measuring;
  const plugins = enabledPlugins(options.admissionPlugins ?? {});
  const { authorizer } = access;
  const admission = defaultAdmission({ ...from, authorizer, plugins, instruments });
  const { mutating, validating, quota, follow } = admission;
  return {
    mutating: [timedStep("admit", [...access.mutating, mutating], instruments)],
    validating: [timedStep("validate", [...validating, quota], instruments)],
    follow,
  };
}
