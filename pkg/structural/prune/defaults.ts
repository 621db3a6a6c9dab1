import { assign, deepClone } from "#base";
import type { CompiledSchema } from "../schema/compiled-schema.ts";

type JsonObject = Record<string, unknown>;

/**
 * Removes fields that are null if their schema is neither nullable nor has a default. Nulls of
 * unknown fields are kept.
 */
export function dropNulls(value: unknown, schema: CompiledSchema | undefined): void {
  if (typeof value !== "object" || value === null || schema === undefined) return;
  if (Array.isArray(value)) {
    for (const item of value) dropNulls(item, schema.items);
    return;
  }
  if (!schema.hasMemberSchemas) return;
  const object = value as JsonObject;
  for (const name of Object.keys(object)) {
    const inner = object[name];
    if (typeof inner !== "object") continue;
    const field = schema.field(name);
    if (inner !== null) dropNulls(inner, field);
    else if (field !== undefined && !field.isNullable && field.default === undefined) {
      delete object[name];
    }
  }
}

/**
 * Sets defaults of fields that are absent, or null and not nullable, from the root to the leaves. Returns
 * whether it has set any.
 */
export function applyDefaults(value: unknown, schema: CompiledSchema | undefined): boolean {
  if (typeof value !== "object" || value === null || schema === undefined) return false;
  if (!schema.hasDefaults) return false;
  if (Array.isArray(value)) return defaultItems(value, schema.items);
  return defaultFields(value as JsonObject, schema);
}

function defaultFields(object: JsonObject, schema: CompiledSchema): boolean {
  let isChanged = false;
  for (const [name, field] of schema.defaultedProperties) {
    const isPresent = Object.hasOwn(object, name);
    if (isPresent && !needsDefault(object[name], field)) continue;
    assign(object, name, deepClone(field.default));
    isChanged = true;
  }
  for (const name of Object.keys(object)) {
    const inner = object[name];
    const field = schema.field(name);
    if (field === undefined) continue;
    if (inner === null && needsDefault(inner, field) && field.default !== undefined) {
      assign(object, name, deepClone(field.default));
      isChanged = true;
    }
    if (applyDefaults(object[name], field)) isChanged = true;
  }
  return isChanged;
}

function defaultItems(list: unknown[], schema: CompiledSchema | undefined): boolean {
  if (schema === undefined) return false;
  let isChanged = false;
  for (let index = 0; index < list.length; index++) {
    if (needsDefault(list[index], schema) && schema.default !== undefined) {
      list[index] = deepClone(schema.default);
      isChanged = true;
    }
    if (applyDefaults(list[index], schema)) isChanged = true;
  }
  return isChanged;
}

function needsDefault(value: unknown, schema: CompiledSchema): boolean {
  return value === null && !schema.isNullable;
}
