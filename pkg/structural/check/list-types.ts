import { identity, type JsonObject, sliceLength, type Slices } from "#base";
import type { Path, Problems } from "#schema";
import type { CompiledSchema } from "../schema/compiled-schema.ts";
import { inGoOrder } from "./go-order.ts";
import { maxErrors } from "../schema/limits.ts";

/** Checks in slices that items of lists of type set, and keys of lists of type map, are unique. */
export function* checkListTypes(
  value: unknown,
  schema: CompiledSchema,
  path: Path,
  problems: Problems,
): Slices<void> {
  if (typeof value !== "object" || value === null || !schema.hasListTypes) return;
  if (problems.list.length >= maxErrors) return;
  if (Array.isArray(value)) {
    if (schema.listType === "set") yield* checkSet(value, path, problems);
    if (schema.listType === "map") yield* checkMap(value, schema.listKeys, path, problems);
    const { items } = schema;
    if (items?.hasListTypes !== true) return;
    for (const [index, item] of value.entries()) {
      if (index % sliceLength === 0) yield;
      yield* checkListTypes(item, items, path.index(index), problems);
    }
    return;
  }
  for (const [name, inner] of Object.entries(value)) {
    const property = schema.property(name);
    const known = property ?? schema.values;
    if (known === undefined) continue;
    const at = property === undefined ? path.key(name) : path.child(name);
    yield* checkListTypes(inner, known, at, problems);
  }
}

function* checkSet(list: readonly unknown[], path: Path, problems: Problems): Slices<void> {
  for (const index of yield* duplicateIndexes(list, identity))
    problems.duplicate(path.index(index), inGoOrder(list[index]));
}

function* checkMap(
  list: readonly unknown[],
  names: readonly string[],
  path: Path,
  problems: Problems,
): Slices<void> {
  for (const [index, item] of list.entries()) {
    if (item === null || (typeof item === "object" && !Array.isArray(item))) continue;
    problems.invalid(path.index(index), item, "must be an object for an array of list-type map");
    return;
  }
  const keyOf = (item: unknown): string => listMapKeyText(item as JsonObject | null, names);
  for (const index of yield* duplicateIndexes(list, keyOf)) {
    problems.duplicate(path.index(index), inGoOrder(listMapKey(list[index] as JsonObject, names)));
  }
}

/** The key fields of an item of a list of type map. */
function listMapKey(item: JsonObject | null, names: readonly string[]): JsonObject {
  const present = names.filter((name) => item !== null && Object.hasOwn(item, name));
  return Object.fromEntries(present.map((name) => [name, item?.[name]]));
}

/** The key of an item as a string, equal exactly for equal keys. */
export function listMapKeyText(item: JsonObject | null, names: readonly string[]): string {
  let text = "";
  for (const name of names) {
    const value = item !== null && Object.hasOwn(item, name) ? item[name] : undefined;
    const part = String(identity(value));
    text += `${typeof value}${part.length}:${part}`;
  }
  return text;
}

/** Indexes of the second occurrence of each repeated key. */
function* duplicateIndexes(
  list: readonly unknown[],
  keyOf: (item: unknown) => unknown,
): Slices<readonly number[]> {
  if (list.length < 2) return [];
  const counts = new Map<unknown, number>();
  const found: number[] = [];
  for (const [index, item] of list.entries()) {
    if (index % sliceLength === 0) yield;
    const key = keyOf(item);
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    if (count === 2 && found.length < maxErrors) found.push(index);
  }
  return found;
}
