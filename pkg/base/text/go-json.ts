import { sortedKeys } from "./bytes.ts";
import { printJson } from "./json-text.ts";

/**
 * The keys of an object in the order of Go's JSON. The caller has sorted the keys of a map, but JavaScript
 * lists integer keys first and by value. The fields of structs keep their order, as none is an integer.
 */
export function keysInGoOrder(object: Readonly<Record<string, unknown>>): readonly string[] {
  const keys = Object.keys(object);
  return /^\d/.test(keys[0] ?? "") ? sortedKeys(object) : keys;
}

/** As `printJson`, with `keysInGoOrder`; for messages. */
export function printGoJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(printGoJson).join(",")}]`;
  if (!isPlainObject(value)) return printJson(value);
  const members = keysInGoOrder(value)
    .filter((key) => value[key] !== undefined)
    .map((key) => `${JSON.stringify(key)}:${printGoJson(value[key])}`);
  return `{${members.join(",")}}`;
}

/** False for values that print themselves, such as OpaqueJson. */
function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype
  );
}
