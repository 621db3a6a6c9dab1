import { sortedKeys } from "./bytes.ts";

/**
 * The keys of an object in the order of Go's JSON. The caller has sorted the keys of a map, but JavaScript
 * lists integer keys first and by value. The fields of structs keep their order, as none is an integer.
 */
export function keysInGoOrder(object: Readonly<Record<string, unknown>>): readonly string[] {
  const keys = Object.keys(object);
  return /^\d/.test(keys[0] ?? "") ? sortedKeys(object) : keys;
}
