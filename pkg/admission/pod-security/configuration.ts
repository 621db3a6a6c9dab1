import type { Domain } from "#meta";
import {
  AdmissionConfigurationFault,
  known,
  listIn,
  recordOf,
  typed,
} from "../configuration/fields.ts";
import type { PodSecurityDefaults } from "./plugin.ts";
import { levelOf, minorOf, type Standard } from "./policy.ts";

const modes = ["enforce", "audit", "warn"] as const;

/** What a PodSecurityConfiguration says. @throws AdmissionConfigurationFault */
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
    const told = JSON.stringify(defaults[field]);
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
