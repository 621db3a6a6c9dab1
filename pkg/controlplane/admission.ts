/** Builds admission from the start options. */
import { readFileSync } from "node:fs";
import path from "node:path";
import {
  type Admission,
  type AdmissionConfiguration,
  createAdmission,
  enabledPlugins,
  parseAdmissionConfiguration,
} from "#admission";
import type { Clock } from "#base";
import type { Catalog, Domain } from "#meta";
import type { Registry } from "#registry";
import type { Dialer, Instruments, Tracer } from "#request";
import type { AccessControl } from "./authorization/access-control.ts";
import { fromFlag } from "./files/file-reloader.ts";
import type { StartOptions } from "./options.ts";

export interface AdmissionDependencies {
  readonly options: StartOptions;
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** Whether a feature gate is on. */
  readonly gates: (name: string) => boolean;
  readonly access: AccessControl;
  readonly measuring: { readonly instruments: Instruments };
  readonly tracer: Tracer;
  /** Connects to webhooks. */
  readonly dialer: Dialer;
  readonly signal: AbortSignal;
  /** Called by the first request: the registry is built with the admission chain. */
  readonly registry: () => Registry;
}

export function buildAdmission(from: AdmissionDependencies): Admission {
  const { options, access, measuring, catalog } = from;
  const { authorizer, accessChecks } = access;
  return createAdmission({
    ...from,
    authorizer,
    accessChecks,
    plugins: enabledPlugins(options.admissionPlugins ?? {}),
    configuration: configurationOf(options, catalog.domain),
    instruments: measuring.instruments,
    life: from.signal,
  });
}

function configurationOf(
  { admissionConfiguration }: StartOptions,
  domain: Domain,
): AdmissionConfiguration {
  if (admissionConfiguration === undefined) return new Map();
  const { text, folder = "." } = admissionConfiguration;
  return fromFlag("admission-control-config-file", () =>
    parseAdmissionConfiguration(text, domain, (named) =>
      readFileSync(path.resolve(folder, named), "utf8"),
    ),
  );
}
