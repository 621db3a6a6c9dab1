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

/** Sets defaults of fields that are absent, or null and not nullable, from the root to the leaves. */
export function applyDefaults(value: unknown, schema: CompiledSchema | undefined): void {
  if (typeof value !== "object" || value === null || schema === undefined) return;
  if (!schema.hasDefaults) return;
  if (Array.isArray(value)) defaultItems(value, schema.items);
  else defaultFields(value as JsonObject, schema);
}

function defaultFields(object: JsonObject, schema: CompiledSchema): void {
  for (const [name, field] of schema.defaultedProperties) {
    const isPresent = Object.hasOwn(object, name);
    if (isPresent && !needsDefault(object[name], field)) continue;
    assign(object, name, deepClone(field.default));
  }
  for (const name of Object.keys(object)) {
    const inner = object[name];
    const field = schema.field(name);
    if (field === undefined) continue;
    if (inner === null && needsDefault(inner, field) && field.default !== undefined) {
      assign(object, name, deepClone(field.default));
    }
    applyDefaults(object[name], field);
  }
}

function defaultItems(list: unknown[], schema: CompiledSchema | undefined): void {
  if (schema === undefined) return;
  for (let index = 0; index < list.length; index++) {
    if (needsDefault(list[index], schema) && schema.default !== undefined) {
      list[index] = deepClone(schema.default);
    }
    applyDefaults(list[index], schema);
  }
}

function needsDefault(value: unknown, schema: CompiledSchema): boolean {
  return value === null && !schema.isNullable;
}
