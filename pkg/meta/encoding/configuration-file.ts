import { DecodeFault, fromJson, type Infer, type Problems, type StructType } from "#schema";
import { problemText } from "../status/status-errors.ts";
import { parseYaml, YamlFault } from "./yaml.ts";

/** An invalid configuration; the message contains all errors. */
export class ConfigurationFault extends Error {
  override readonly name = "ConfigurationFault";
}

/**
 * Strictly decodes a configuration file, YAML or JSON, of the kind that the struct is named after.
 * @param versions supported values of `apiVersion`, the preferred one first
 * @throws ConfigurationFault
 */
export function decodeConfiguration<S extends StructType<any>>(
  text: string,
  struct: S,
  versions: readonly string[],
): Infer<S> {
  try {
    const { value, duplicates } = parseYaml(text);
    checkKind(value, struct.name, versions);
    const unknown: string[] = [];
    const configuration = fromJson(struct, value, { root: true, unknown });
    const strange = [...duplicates, ...unknown.map((path) => `unknown field "${path}"`)];
    if (strange.length === 0) return configuration;
    throw new ConfigurationFault(`strict decoding error: ${strange.join(", ")}`);
  } catch (error) {
    if (!(error instanceof YamlFault || error instanceof DecodeFault)) throw error;
    throw new ConfigurationFault(error.message);
  }
}

function checkKind(value: unknown, expected: string, versions: readonly string[]): void {
  const { apiVersion, kind } = (value ?? {}) as Readonly<Record<string, unknown>>;
  if (kind === expected && versions.some((known) => known === apiVersion)) return;
  const shown = (found: unknown) => (typeof found === "string" ? JSON.stringify(found) : "none");
  throw new ConfigurationFault(
    `expected apiVersion ${versions[0]} and kind ${expected}, ` +
      `found apiVersion ${shown(apiVersion)} and kind ${shown(kind)}`,
  );
}

/** @throws ConfigurationFault if there are problems */
export function refuseProblems({ list }: Problems): void {
  if (list.length === 0) return;
  const texts = list.map((problem) => `${problem.field}: ${problemText(problem)}`);
  throw new ConfigurationFault(texts.join("; "));
}
