import { assign, deepClone } from "#base";
import type { CompiledSchema } from "../schema/compiled-schema.ts";

type JsonObject = Record<string, unknown>;

/**
 * Drops fields that are null where null is no value and no default takes its place. What is
 * unknown keeps its nulls.
 */
export function dropNulls(value: unknown, schema: CompiledSchema | undefined): void {
  if (typeof value !== "object" || value === null || schema === undefined) return;
  if (Array.isArray(value)) {
    for (const item of value) dropNulls(item, schema.items);
    return;
  }
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

/** Fills in what is absent, or null where null is no value, from the outside to the inside. */
export function applyDefaults(value: unknown, schema: CompiledSchema | undefined): void {
  if (typeof value !== "object" || value === null || schema === undefined) return;
  if (!schema.hasDefaults) return;
  if (Array.isArray(value)) fillItems(value, schema.items);
  else fillFields(value as JsonObject, schema);
}

function fillFields(object: JsonObject, schema: CompiledSchema): void {
  for (const [name, field] of schema.defaulted) {
    const isThere = Object.hasOwn(object, name);
    if (isThere && !needsDefault(object[name], field)) continue;
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

function fillItems(list: unknown[], schema: CompiledSchema | undefined): void {
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
