import { assign, deepClone, deepCloneInSlices, type Slices } from "#base";
import { checkDepth, isJsonObject, type JsonObject } from "./patch-fault.ts";

/**
 * JSON Merge Patch (RFC 7386), except that null members of objects in lists are removed, as in
 * Kubernetes. The arguments are not modified. @throws PatchFault for a patch that is nested too deeply
 */
export function* mergePatchInSlices(document: unknown, patch: unknown): Slices<unknown> {
  checkDepth(patch);
  yield;
  if (!isJsonObject(patch)) return deepClone(patch);
  if (!isJsonObject(document)) return withoutNulls(patch);
  const merged = yield* deepCloneInSlices(document);
  mergeInto(merged, patch);
  return merged;
}

function mergeInto(target: JsonObject, patch: JsonObject): void {
  for (const key of Object.keys(patch)) {
    const value = patch[key];
    if (value === null) {
      delete target[key];
      continue;
    }
    const current = Object.hasOwn(target, key) ? target[key] : undefined;
    if (isJsonObject(current) && isJsonObject(value)) mergeInto(current, value);
    else assign(target, key, withoutNulls(value));
  }
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
