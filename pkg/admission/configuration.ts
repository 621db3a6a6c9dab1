/** What a file of `--admission-control-config-file` says. */
import { parseYaml, resolve, type Domain, YamlFault } from "#meta";
import { levelOf, minorOf, type PodSecurityDefaults, type Standard } from "./pod-security/index.ts";

/** A configuration that cannot be used, in one sentence. */
class AdmissionConfigurationFault extends Error {
  override readonly name = "AdmissionConfigurationFault";
}

/** Absent where the file does not speak of it. */
export interface AdmissionConfiguration {
  readonly podSecurity?: PodSecurityDefaults;
}

type Fields = Readonly<Record<string, unknown>>;

const modes = ["enforce", "audit", "warn"] as const;
const versions = ["v1", "v1beta1", "v1alpha1"];

/**
 * An AdmissionConfiguration, YAML or JSON; `readFile` reads what it refers to by path.
 * @throws AdmissionConfigurationFault, or what `readFile` throws
 */
export function parseAdmissionConfiguration(
  text: string,
  domain: Domain,
  readFile: (path: string) => string,
): AdmissionConfiguration {
  const group = resolve("apiserver.config.{api}", domain);
  const file = typed(parsed(text), group, "AdmissionConfiguration");
  known(file, ["apiVersion", "kind", "plugins"], "AdmissionConfiguration");
  let found: AdmissionConfiguration = {};
  for (const plugin of listIn(file, "plugins")) {
    const fields = recordOf(plugin, "plugins");
    known(fields, ["name", "path", "configuration"], "plugins");
    const { name, path, configuration } = fields;
    if (name !== "PodSecurity") {
      const told = JSON.stringify(name);
      throw new AdmissionConfigurationFault(`plugin ${told} takes no configuration here`);
    }
    if (found.podSecurity !== undefined) {
      throw new AdmissionConfigurationFault("PodSecurity is configured twice");
    }
    const given = configuration ?? (typeof path === "string" ? parsed(readFile(path)) : undefined);
    if (given !== undefined) found = { podSecurity: podSecurityIn(given, domain) };
  }
  return found;
}

function podSecurityIn(value: unknown, domain: Domain): PodSecurityDefaults {
  const kind = "PodSecurityConfiguration";
  const fields = typed(value, resolve("pod-security.admission.config.{api}", domain), kind);
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

function parsed(text: string): unknown {
  try {
    return parseYaml(text).value;
  } catch (fault) {
    if (fault instanceof YamlFault) throw new AdmissionConfigurationFault(fault.message);
    throw fault;
  }
}

function typed(value: unknown, group: string, kind: string): Fields {
  const fields = recordOf(value, kind);
  const named = `${String(fields["apiVersion"])}, Kind=${String(fields["kind"])}`;
  if (versions.some((version) => named === `${group}/${version}, Kind=${kind}`)) return fields;
  throw new AdmissionConfigurationFault(`expected ${group}/v1, Kind=${kind}, got ${named}`);
}

/** Throws for fields that nobody would look at. */
function known(fields: Fields, names: readonly string[], what: string): void {
  const odd = Object.keys(fields).find((name) => !names.includes(name));
  if (odd === undefined) return;
  throw new AdmissionConfigurationFault(`${what} has no field ${JSON.stringify(odd)}`);
}

function recordOf(value: unknown, what: string): Fields {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Fields;
  throw new AdmissionConfigurationFault(`${what} must be a map`);
}

function listIn(fields: Fields, key: string): readonly unknown[] {
  const value = fields[key] ?? [];
  if (Array.isArray(value)) return value;
  throw new AdmissionConfigurationFault(`${key} must be a list`);
}
