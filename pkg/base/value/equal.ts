import { OpaqueJson } from "../text/json-text.ts";

/**
 * Equality of JSON-shaped values: numbers, bigints, strings, booleans, null, arrays and plain
 * objects. Key order does not matter, and a key whose value is undefined counts as absent.
 */
export function deepEqual(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) {
    return typeof left === "number" && Number.isNaN(left) && Number.isNaN(right);
  }
  if (left instanceof OpaqueJson || right instanceof OpaqueJson) {
    return deepEqual(OpaqueJson.valueOf(left), OpaqueJson.valueOf(right));
  }
  if (Array.isArray(left)) return Array.isArray(right) && equalLists(left, right);
  return !Array.isArray(right) && equalObjects(left as Shape, right as Shape);
}

type Shape = Readonly<Record<string, unknown>>;

function equalLists(left: readonly unknown[], right: readonly unknown[]): boolean {
  if (left.length !== right.length) return false;
  for (let index = 0; index < left.length; index++) {
    if (!deepEqual(left[index], right[index])) return false;
  }
  return true;
}

function equalObjects(left: Shape, right: Shape): boolean {
  let present = 0;
  for (const key of Object.keys(left)) {
    const value = left[key];
    if (value === undefined) continue;
    present++;
    if (!Object.hasOwn(right, key) || !deepEqual(value, right[key])) return false;
  }
  for (const key of Object.keys(right)) {
    if (right[key] !== undefined) present--;
  }
  return present === 0;
}
