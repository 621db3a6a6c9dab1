/** Uniqueness in lists: sets have no equal elements, lists of type map no two with equal keys. */
import { identity, type JsonObject } from "#base";
import type { Path, Problems } from "#schema";
import type { CompiledSchema } from "../schema/compiled-schema.ts";
import { inGoOrder } from "./go-order.ts";
import { MOST_TOLD } from "../schema/limits.ts";

export function checkListTypes(
  value: unknown,
  schema: CompiledSchema,
  path: Path,
  problems: Problems,
): void {
  if (typeof value !== "object" || value === null || !schema.hasListTypes) return;
  if (problems.list.length >= MOST_TOLD) return;
  if (Array.isArray(value)) {
    if (schema.listType === "set") checkSet(value, path, problems);
    if (schema.listType === "map") checkMap(value, schema.listKeys, path, problems);
    const { items } = schema;
    if (items?.hasListTypes !== true) return;
    value.forEach((item, index) => checkListTypes(item, items, path.index(index), problems));
    return;
  }
  for (const [name, inner] of Object.entries(value)) {
    const property = schema.property(name);
    const known = property ?? schema.values;
    if (known === undefined) continue;
    const at = property === undefined ? path.key(name) : path.child(name);
    checkListTypes(inner, known, at, problems);
  }
}

function checkSet(list: readonly unknown[], path: Path, problems: Problems): void {
  for (const index of repeated(list)) problems.duplicate(path.index(index), inGoOrder(list[index]));
}

function checkMap(
  list: readonly unknown[],
  names: readonly string[],
  path: Path,
  problems: Problems,
): void {
  for (const [index, item] of list.entries()) {
    if (item === null || (typeof item === "object" && !Array.isArray(item))) continue;
    problems.invalid(path.index(index), item, "must be an object for an array of list-type map");
    return;
  }
  const keys = list.map((item) => keyText(item as JsonObject | null, names));
  for (const index of repeated(keys)) {
    problems.duplicate(path.index(index), inGoOrder(listMapKey(list[index] as JsonObject, names)));
  }
}

/** The part of an element that tells it apart from others. */
function listMapKey(item: JsonObject | null, names: readonly string[]): JsonObject {
  const there = names.filter((name) => item !== null && Object.hasOwn(item, name));
  return Object.fromEntries(there.map((name) => [name, item?.[name]]));
}

/** That part as a text: the same for equal keys only. */
export function keyText(item: JsonObject | null, names: readonly string[]): string {
  let text = "";
  for (const name of names) {
    const value = item !== null && Object.hasOwn(item, name) ? item[name] : undefined;
    const part = String(identity(value));
    text += `${typeof value}${part.length}:${part}`;
  }
  return text;
}

/** Where a value is met for the second time; further times are not told. */
function repeated(list: readonly unknown[]): readonly number[] {
  if (list.length < 2) return [];
  const times = new Map<unknown, number>();
  const found: number[] = [];
  for (const [index, item] of list.entries()) {
    const key = identity(item);
    const count = (times.get(key) ?? 0) + 1;
    times.set(key, count);
    if (count === 2 && found.length < MOST_TOLD) found.push(index);
  }
  return found;
}
