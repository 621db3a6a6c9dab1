import { compareUtf8 } from "#base";
import type { CompiledSchema } from "../schema/compiled-schema.ts";
import { maxErrors } from "../schema/limits.ts";

type JsonObject = Record<string, unknown>;

/** Fields that are validated by the API server, not by the schema. */
export const metaFields: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata"]);

/**
 * Removes the fields that the schema does not specify, in place; returns their sorted paths, such as
 * `spec.list[0].extra`. Keeps apiVersion, kind and metadata of the resource and of embedded ones.
 */
export function prune(value: unknown, schema: CompiledSchema, isRoot: boolean): readonly string[] {
  if (schema.preservesAll) return [];
  const walk: Walk = { steps: [], dropped: [] };
  pruneValue(value, schema, walk, isRoot || schema.isEmbedded);
  return walk.dropped.sort(compareUtf8);
}

interface Walk {
  readonly steps: (string | number)[];
  readonly dropped: string[];
}

function pruneValue(
  value: unknown,
  schema: CompiledSchema | undefined,
  walk: Walk,
  isResource = schema?.isEmbedded === true,
): void {
  if (typeof value !== "object" || value === null) return;
  if (schema?.preservesUnknown === true) prunePreserving(value, schema, walk, isResource);
  else if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      walk.steps.push(index);
      pruneValue(value[index], schema?.items, walk);
      walk.steps.pop();
    }
  } else pruneFields(value as JsonObject, schema, walk, isResource);
}

function pruneFields(
  object: JsonObject,
  schema: CompiledSchema | undefined,
  walk: Walk,
  isResource: boolean,
): void {
  for (const name of Object.keys(object)) {
    if (isResource && metaFields.has(name)) continue;
    const known = schema?.field(name);
    if (known === undefined && schema?.allowsAnyValue !== true) {
      if (walk.dropped.length < maxErrors) walk.dropped.push(pathOf(walk.steps, name));
      delete object[name];
    } else if (isObjectOrArray(object[name])) {
      walk.steps.push(name);
      pruneValue(object[name], known, walk);
      walk.steps.pop();
    }
  }
}

/** Preserves unknown fields, and prunes specified ones by their schemas. */
function prunePreserving(
  value: object,
  schema: CompiledSchema | undefined,
  walk: Walk,
  isResource: boolean,
): void {
  if (schema === undefined) return;
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items === undefined) return;
    for (let index = 0; index < value.length; index++) {
      const item: unknown = value[index];
      if (!isObjectOrArray(item)) continue;
      walk.steps.push(index);
      prunePreserving(item, items, walk, items.isEmbedded);
      walk.steps.pop();
    }
    return;
  }
  if (!schema.hasMemberSchemas && !schema.allowsAnyValue) return;
  const object = value as JsonObject;
  for (const name of Object.keys(object)) {
    if (!isObjectOrArray(object[name]) || (isResource && metaFields.has(name))) continue;
    const known = schema.field(name);
    if (known === undefined && !schema.allowsAnyValue) continue;
    walk.steps.push(name);
    pruneValue(object[name], known, walk);
    walk.steps.pop();
  }
}

function isObjectOrArray(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function pathOf(steps: readonly (string | number)[], name: string): string {
  let path = "";
  for (const step of steps) path += typeof step === "number" ? `[${step}]` : `.${step}`;
  path += `.${name}`;
  return path.startsWith(".") ? path.slice(1) : path;
}
