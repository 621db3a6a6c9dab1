import { sortedKeys } from "../text/bytes.ts";
import { printJson } from "../text/json-text.ts";

/**
 * A key that is the same exactly for equal JSON values: a scalar itself, or a string for an object or
 * list.
 */
export function identity(value: unknown): unknown {
  if (typeof value === "string") return `"${value}`;
  return typeof value === "object" && value !== null ? printJson(sorted(value)) : value;
}

/** Objects become lists of what is in them, by name. */
function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return { list: value.map(sorted) };
  const object = value as Readonly<Record<string, unknown>>;
  return sortedKeys(object).map((name) => [name, sorted(object[name])]);
}
