import { deepEqual, isJsonObject, type JsonObject } from "#base";
import type { CompiledSchema } from "../schema/compiled-schema.ts";
import { listMapKeyText } from "./list-types.ts";

/** A value and the old value that it is correlated with, for validation ratcheting. */
export class Correlated {
  private unchanged: boolean | undefined;
  private oldItems: Map<unknown, unknown> | undefined;

  constructor(
    readonly value: unknown,
    readonly old: unknown,
    private readonly schema: CompiledSchema,
  ) {}

  /** Whether the value equals the old one, by the rules of `isSame`. */
  get isUnchanged(): boolean {
    this.unchanged ??= isSame(this.value, this.old, this.schema);
    return this.unchanged;
  }

  /** The field with its old value; undefined unless both values are objects and the schema has the field. */
  field(name: string): Correlated | undefined {
    const schema = this.schema.field(name);
    const { value, old } = this;
    if (schema === undefined || !isJsonObject(value) || !isJsonObject(old)) return undefined;
    return new Correlated(ownValue(value, name), ownValue(old, name), schema);
  }

  /** The item with the old one of the same key; undefined for new items, and for lists not of type map. */
  item(index: number): Correlated | undefined {
    const { items, listType } = this.schema;
    if (items === undefined || listType !== "map") return undefined;
    if (!Array.isArray(this.value) || !Array.isArray(this.old)) return undefined;
    const item: unknown = this.value[index];
    this.oldItems ??= itemsByKey(this.old, this.schema.listKeys);
    const oldItem = this.oldItems.get(keyOf(item, this.schema.listKeys));
    return oldItem === undefined ? undefined : new Correlated(item, oldItem, items);
  }
}

function ownValue(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** Key of an item of a list of type map; undefined for an item that is no object. */
function keyOf(item: unknown, names: readonly string[]): string | undefined {
  return isJsonObject(item) ? listMapKeyText(item, names) : undefined;
}

/** Indexes items by key; of equal keys the first wins. */
function itemsByKey(list: readonly unknown[], names: readonly string[]): Map<unknown, unknown> {
  const found = new Map<unknown, unknown>();
  for (const item of list) {
    const key = keyOf(item, names);
    if (key !== undefined && !found.has(key)) found.set(key, item);
  }
  return found;
}

/**
 * Equality as Kubernetes determines it (CorrelatedObject.CachedDeepEqual): items of lists of type map are
 * matched by key, the order of other lists counts, also that of sets. An object with a field that its schema
 * does not specify equals no other, not even itself.
 */
function isSame(value: unknown, old: unknown, schema: CompiledSchema): boolean {
  if (Array.isArray(value)) {
    if (schema.listType !== "map") return deepEqual(value, old);
    return Array.isArray(old) && isSameMapList(value, old, schema);
  }
  if (!isJsonObject(value)) return deepEqual(value, old);
  if (!isJsonObject(old)) return false;
  const names = Object.keys(value);
  if (names.length !== Object.keys(old).length) return false;
  return names.every((name) => {
    const field = schema.field(name);
    return field !== undefined && Object.hasOwn(old, name) && isSame(value[name], old[name], field);
  });
}

function isSameMapList(
  list: readonly unknown[],
  old: readonly unknown[],
  { items, listKeys }: CompiledSchema,
): boolean {
  if (list.length !== old.length) return false;
  const oldItems = itemsByKey(old, listKeys);
  return list.every((item) => {
    const oldItem = oldItems.get(keyOf(item, listKeys));
    return oldItem !== undefined && items !== undefined && isSame(item, oldItem, items);
  });
}
