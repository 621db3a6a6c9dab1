import { printJson } from "#base";
import type { Domain } from "#meta";
import {
  AdmissionConfigurationFault,
  known,
  listIn,
  recordOf,
  typed,
} from "../configuration/fields.ts";
import { lax, levelOf, minorOf, type NamespacePolicy, type Standard } from "./policy.ts";

/** The policy of namespaces without labels, and exemptions from all policies. */
export interface PodSecurityDefaults {
  readonly policy: NamespacePolicy;
  readonly exempt: {
    readonly users: ReadonlySet<string>;
    readonly namespaces: ReadonlySet<string>;
    readonly runtimeClasses: ReadonlySet<string>;
  };
}

const none: ReadonlySet<string> = new Set();

/** Without configuration: level `privileged` in every mode, nothing exempt. */
export const privilegedDefaults: PodSecurityDefaults = {
  policy: { enforce: lax, audit: lax, warn: lax },
  exempt: { users: none, namespaces: none, runtimeClasses: none },
};

const modes = ["enforce", "audit", "warn"] as const;

/** Parses a PodSecurityConfiguration. @throws AdmissionConfigurationFault */
export function podSecurityIn(value: unknown, domain: Domain): PodSecurityDefaults {
  const kind = "PodSecurityConfiguration";
  const group = "pod-security.admission.config.{api}";
  const fields = typed(value, { group, kind }, domain);
  known(fields, ["apiVersion", "kind", "defaults", "exemptions"], kind);
  const defaults = recordOf(fields["defaults"] ?? {}, "defaults");
  known(
    defaults,
    modes.flatMap((mode) => [mode, `${mode}-version`]),
    "defaults",
  );
  const exemptions = recordOf(fields["exemptions"] ?? {}, "exemptions");
  known(exemptions, ["usernames", "namespaces", "runtimeClasses"], "exemptions");
  const standard = (mode: (typeof modes)[number]): Standard => {
    const level = levelOf(defaults[mode] ?? "privileged");
    const minor = minorOf(String(defaults[`${mode}-version`] ?? "latest"));
    if (level !== undefined && minor !== undefined) return { level, minor };
    const field = level === undefined ? mode : `${mode}-version`;
    const told = printJson(defaults[field]);
    throw new AdmissionConfigurationFault(`defaults.${field}: Invalid value: ${told}`);
  };
  const names = (key: string): ReadonlySet<string> => new Set(listIn(exemptions, key).map(String));
  return {
    policy: { enforce: standard("enforce"), audit: standard("audit"), warn: standard("warn") },
    exempt: {
      users: names("usernames"),
      namespaces: names("namespaces"),
      runtimeClasses: names("runtimeClasses"),
    },
  };
}
