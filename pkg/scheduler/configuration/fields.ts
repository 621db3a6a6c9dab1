import { isJsonObject } from "#base";
import { ConfigurationFault } from "#meta";

export type Fields = Readonly<Record<string, unknown>>;

/**
 * Fields of an object; none if it is absent.
 * @throws ConfigurationFault for fields that are not in `known`
 */
export function fieldsOf(value: unknown, path: string, known: readonly string[]): Fields {
  if (value === undefined || value === null) return {};
  if (!isJsonObject(value)) throw new ConfigurationFault(`${path || "."}: must be an object`);
  const unknown = Object.keys(value).find((key) => !known.includes(key));
  if (unknown === undefined) return value;
  const field = path === "" ? unknown : `${path}.${unknown}`;
  throw new ConfigurationFault(`unknown field "${field}"`);
}

export function itemsOf(value: unknown, path: string): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new ConfigurationFault(`${path}: must be a list`);
  return value;
}

export function textOf(value: unknown, path: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "string") throw new ConfigurationFault(`${path}: must be a string`);
  return value;
}

export function numberOf(
  value: unknown,
  path: string,
  minimum: number,
  maximum = 2 ** 31 - 1,
): number | undefined {
  if (value === undefined || value === null) return undefined;
  const isNumber = typeof value === "number" && value >= minimum && value <= maximum;
  if (!isNumber) {
    throw new ConfigurationFault(`${path}: must be a number from ${minimum} to ${maximum}`);
  }
  return value;
}
