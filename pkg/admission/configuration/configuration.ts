/** The file of `--admission-control-config-file`. */
import { printJson } from "#base";
import type { Domain } from "#meta";
import { admissionOrder } from "../order.ts";
import { AdmissionConfigurationFault, known, listIn, parsed, recordOf, typed } from "./fields.ts";

/** Parsed configuration of each plugin, by plugin name. */
export type AdmissionConfiguration = ReadonlyMap<string, unknown>;

/**
 * Parses an AdmissionConfiguration (YAML or JSON); `readFile` reads the files that it references.
 * @throws AdmissionConfigurationFault, or what `readFile` throws
 */
export function parseAdmissionConfiguration(
  text: string,
  domain: Domain,
  readFile: (path: string) => string,
): AdmissionConfiguration {
  const kind = "AdmissionConfiguration";
  const file = typed(parsed(text), { group: "apiserver.config.{api}", kind }, domain);
  known(file, ["apiVersion", "kind", "plugins"], kind);
  const found = new Map<string, unknown>();
  for (const entry of listIn(file, "plugins")) {
    const fields = recordOf(entry, "plugins");
    known(fields, ["name", "path", "configuration"], "plugins");
    const { name, path, configuration } = fields;
    const plugin = admissionOrder.find((each) => each.name === name);
    if (plugin?.parseConfiguration === undefined) {
      const quoted = printJson(name);
      throw new AdmissionConfigurationFault(`plugin ${quoted} takes no configuration here`);
    }
    if (found.has(plugin.name)) {
      throw new AdmissionConfigurationFault(`${plugin.name} is configured twice`);
    }
    const given = configuration ?? (typeof path === "string" ? parsed(readFile(path)) : undefined);
    if (given === undefined) continue;
    found.set(plugin.name, plugin.parseConfiguration(given, { domain, readFile }));
  }
  return found;
}
