import { assign } from "../text/bytes.ts";
import { isJsonObject, type JsonObject } from "../text/json-object.ts";
import { OpaqueJson } from "../text/json-text.ts";
import { deepEqual } from "./equal.ts";

/**
 * What differs between two JSON-shaped values: objects without the members that are equal in both, at
 * every depth, and lists as a whole. Undefined if the values are equal. An object from which nothing
 * would be left keeps all its members, since an empty object may be treated like an absent one.
 *
 *     { a: 1, b: { c: 1, d: 1 } }, { a: 1, b: { c: 1, d: 2 } }   ->   { b: { d: 1 } }, { b: { d: 2 } }
 */
export function differingParts<T>(before: T, after: T): readonly [T, T] | undefined {
  return partsOf(before, after) as readonly [T, T] | undefined;
}

function partsOf(before: unknown, after: unknown): readonly [unknown, unknown] | undefined {
  if (!isObject(before) || !isObject(after)) {
    return deepEqual(before, after) ? undefined : [before, after];
  }
  const left: Record<string, unknown> = {};
  const right: Record<string, unknown> = {};
  for (const name in before) {
    const [old, next] = [before[name], memberOf(after, name)];
    if (old === next) continue;
    if (old === undefined || next === undefined) {
      assign(old === undefined ? right : left, name, old ?? next);
      continue;
    }
    const parts = partsOf(old, next);
    if (parts === undefined) continue;
    assign(left, name, parts[0]);
    assign(right, name, parts[1]);
  }
  for (const name in after) {
    if (after[name] !== undefined && !Object.hasOwn(before, name)) assign(right, name, after[name]);
  }
  if (isEmpty(left) && isEmpty(right)) return undefined;
  const isEmptied = isEmpty(left) ? !isEmpty(before) : isEmpty(right) && !isEmpty(after);
  return isEmptied ? [before, after] : [left, right];
}

function isObject(value: unknown): value is JsonObject {
  return isJsonObject(value) && !(value instanceof OpaqueJson);
}

function memberOf(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

function isEmpty(object: JsonObject): boolean {
  for (const name in object) if (object[name] !== undefined) return false;
  return true;
}
