import { assign, deepClone, type Slices } from "#base";
import { checkDepth, isJsonObject, type JsonObject } from "./patch-fault.ts";

/**
 * JSON Merge Patch (RFC 7386), except that null members of objects in lists are removed, as in
 * Kubernetes. The arguments are not modified; the result shares with the document what the patch does
 * not name. @throws PatchFault for a patch that is nested too deeply
 */
export function* mergePatchInSlices(document: unknown, patch: unknown): Slices<unknown> {
  checkDepth(patch);
  yield;
  if (!isJsonObject(patch)) return deepClone(patch);
  if (!isJsonObject(document)) return withoutNulls(patch);
  return merged(document, patch);
}

function merged(document: JsonObject, patch: JsonObject): JsonObject {
  const result = { ...document };
  for (const key of Object.keys(patch)) {
    const value = patch[key];
    if (value === null) {
      delete result[key];
      continue;
    }
    const current = Object.hasOwn(result, key) ? result[key] : undefined;
    const isMerged = isJsonObject(current) && isJsonObject(value);
    assign(result, key, isMerged ? merged(current, value) : withoutNulls(value));
  }
  return result;
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isJsonObject(value)) return value;
  const kept: JsonObject = {};
  for (const key of Object.keys(value)) {
    const inner = value[key];
    if (inner !== null) assign(kept, key, withoutNulls(inner));
  }
  return kept;
}
