import { compareUtf8 } from "#base";
import type { CompiledSchema } from "../schema/compiled-schema.ts";
import { MOST_TOLD } from "../schema/limits.ts";

type JsonObject = Record<string, unknown>;

/** Fields that the API server validates itself, never by the schema of a custom resource. */
export const metaFields: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata"]);

/**
 * Drops from a value, in place, all fields that its schema does not know, and gives their paths,
 * sorted: `spec.list[0].extra`. At the root of a resource, and of resources embedded in it,
 * apiVersion, kind and metadata are left alone.
 */
export function prune(value: unknown, schema: CompiledSchema, isRoot: boolean): readonly string[] {
  if (schema.keepsAll) return [];
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
  if (schema?.keepsUnknown === true) keepUnknown(value, schema, walk, isResource);
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
    if (known === undefined && schema?.allowsAny !== true) {
      if (walk.dropped.length < MOST_TOLD) walk.dropped.push(pathOf(walk.steps, name));
      delete object[name];
    } else if (isBranch(object[name])) {
      walk.steps.push(name);
      pruneValue(object[name], known, walk);
      walk.steps.pop();
    }
  }
}

/** Unknown fields stay as they are; known ones are pruned by what is known of them. */
function keepUnknown(
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
      if (!isBranch(item)) continue;
      walk.steps.push(index);
      keepUnknown(item, items, walk, items.isEmbedded);
      walk.steps.pop();
    }
    return;
  }
  const object = value as JsonObject;
  for (const name of Object.keys(object)) {
    if (!isBranch(object[name]) || (isResource && metaFields.has(name))) continue;
    const known = schema.field(name);
    if (known === undefined && !schema.allowsAny) continue;
    walk.steps.push(name);
    pruneValue(object[name], known, walk);
    walk.steps.pop();
  }
}

function isBranch(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function pathOf(steps: readonly (string | number)[], name: string): string {
  let path = "";
  for (const step of steps) path += typeof step === "number" ? `[${step}]` : `.${step}`;
  path += `.${name}`;
  return path.startsWith(".") ? path.slice(1) : path;
}
