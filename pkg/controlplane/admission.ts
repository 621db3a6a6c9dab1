/** What every write goes through, as start options say it. */
import { readFileSync } from "node:fs";
import path from "node:path";
import {
  type DefaultAdmission,
  defaultAdmission,
  enabledPlugins,
  parseAdmissionConfiguration,
  timedPhase,
} from "#admission";
import type { Clock } from "#base";
import type { Catalog, Domain } from "#meta";
import type { AdmissionHandler, Registry } from "#registry";
import type { Instruments, Tracer } from "#request";
import type { AccessControl } from "./authorization/access-control.ts";
import { fromFlag } from "./files/file-reloader.ts";
import type { StartOptions } from "./options.ts";

export interface Admission {
  readonly provide: DefaultAdmission["provide"];
  readonly mutating: readonly AdmissionHandler[];
  readonly validating: readonly AdmissionHandler[];
  readonly follow: DefaultAdmission["follow"];
}

export interface AdmissionDependencies {
  readonly options: StartOptions;
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** Whether a feature gate is on. */
  readonly gates: (name: string) => boolean;
  readonly access: AccessControl;
  readonly measuring: { readonly instruments: Instruments };
  readonly tracer: Tracer;
  readonly signal: AbortSignal;
  /** Asked for when the first request comes: the registry is made with its admission. */
  readonly registry: () => Registry;
}

export function buildAdmission(from: AdmissionDependencies): Admission {
  const { options, access, measuring } = from;
  const { instruments } = measuring;
  const plugins = enabledPlugins(options.admissionPlugins ?? {});
  const { authorizer } = access;
  const configuration = configurationOf(options, from.catalog.domain);
  const common = { ...from, authorizer, plugins, instruments, life: from.signal };
  const admission = defaultAdmission({ ...common, configuration });
  const { provide, mutating, validating, quota, follow } = admission;
  return {
    provide,
    mutating: [timedPhase("admit", [...access.mutating, mutating], instruments)],
    validating: [timedPhase("validate", [...validating, quota], instruments)],
    follow,
  };
}

function configurationOf({ admissionConfiguration }: StartOptions, domain: Domain) {
  if (admissionConfiguration === undefined) return {};
  const { text, folder = "." } = admissionConfiguration;
  return fromFlag("admission-control-config-file", () =>
    parseAdmissionConfiguration(text, domain, (named) =>
      readFileSync(path.resolve(folder, named), "utf8"),
    ),
  );
}
