/** Reads fields of configuration files. */
import { isJsonObject, type JsonObject, printJson } from "#base";
import { parseYaml, resolve, type Domain, YamlFault } from "#meta";

/** An invalid configuration; the message is one sentence. */
export class AdmissionConfigurationFault extends Error {
  override readonly name = "AdmissionConfigurationFault";
}

/** Context of a plugin's configuration. */
export interface ConfigurationPlace {
  readonly domain: Domain;
  /** Reads a file that the configuration references. */
  readonly readFile: (path: string) => string;
}

export function parsed(text: string): unknown {
  try {
    return parseYaml(text).value;
  } catch (fault) {
    if (fault instanceof YamlFault) throw new AdmissionConfigurationFault(fault.message);
    throw fault;
  }
}

interface Type {
  /** A template, as of all groups. */
  readonly group: string;
  readonly kind: string;
}

const versions = ["v1", "v1beta1", "v1alpha1"];

/** Fields of a value with the expected apiVersion and kind. */
export function typed(value: unknown, { group, kind }: Type, domain: Domain): JsonObject {
  const fields = recordOf(value, kind);
  const named = `${String(fields["apiVersion"])}, Kind=${String(fields["kind"])}`;
  const resolved = resolve(group, domain);
  if (versions.some((version) => named === `${resolved}/${version}, Kind=${kind}`)) return fields;
  throw new AdmissionConfigurationFault(`expected ${resolved}/v1, Kind=${kind}, got ${named}`);
}

/** @throws AdmissionConfigurationFault for unknown fields */
export function known(fields: JsonObject, names: readonly string[], what: string): void {
  const odd = Object.keys(fields).find((name) => !names.includes(name));
  if (odd === undefined) return;
  throw new AdmissionConfigurationFault(`${what} has no field ${JSON.stringify(odd)}`);
}

export function recordOf(value: unknown, what: string): JsonObject {
  if (isJsonObject(value)) return value;
  throw new AdmissionConfigurationFault(`${what} must be a map`);
}

export function listIn(fields: JsonObject, key: string): readonly unknown[] {
  const value = fields[key] ?? [];
  if (Array.isArray(value)) return value;
  throw new AdmissionConfigurationFault(`${key} must be a list`);
}

/** An integer within bounds. */
export function numberIn(
  fields: JsonObject,
  key: string,
  { least, most, usual }: { readonly least: number; readonly most: number; readonly usual: number },
): number {
  const value = fields[key] ?? usual;
  if (Number.isInteger(value) && Number(value) >= least && Number(value) <= most) {
    return Number(value);
  }
  const told = printJson(value);
  throw new AdmissionConfigurationFault(
    `${key}: Invalid value: ${told}: must be between ${least} and ${most}, inclusive`,
  );
}
