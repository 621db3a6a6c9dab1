import { deepEqual, identity, isJsonObject, type JsonObject } from "#base";
import type { CompiledSchema } from "../schema/compiled-schema.ts";
import { listMapKeyText } from "./list-types.ts";

/** A value and the old value that it is correlated with, for validation ratcheting. */
export class Correlated {
  private unchanged: boolean | undefined;
  private byKey: Map<unknown, unknown> | undefined;

  constructor(
    readonly value: unknown,
    readonly old: unknown,
    private readonly schema: CompiledSchema,
  ) {}

  /** Whether the values are equal, regardless of the order of sets and of lists of type map. */
  get isUnchanged(): boolean {
    this.unchanged ??= isSame(this.value, this.old, this.schema);
    return this.unchanged;
  }

  field(name: string): Correlated | undefined {
    const schema = this.schema.field(name);
    const { value, old } = this;
    if (schema === undefined || !isJsonObject(value) || !isJsonObject(old)) return undefined;
    return new Correlated(own(value, name), own(old, name), schema);
  }

  /** The correlated item by key; undefined for new items and for lists that are not of type map. */
  item(index: number): Correlated | undefined {
    const { items, listType } = this.schema;
    if (items === undefined || listType !== "map") return undefined;
    if (!Array.isArray(this.value) || !Array.isArray(this.old)) return undefined;
    const item: unknown = this.value[index];
    this.byKey ??= keyed(this.old, this.schema.listKeys);
    const before = this.byKey.get(keyIn(item, this.schema.listKeys));
    return before === undefined ? undefined : new Correlated(item, before, items);
  }
}

function own(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

function keyIn(item: unknown, names: readonly string[]): string | undefined {
  return isJsonObject(item) ? listMapKeyText(item, names) : undefined;
}

/** Indexes items by key; of equal keys the first wins. */
function keyed(list: readonly unknown[], names: readonly string[]): Map<unknown, unknown> {
  const found = new Map<unknown, unknown>();
  for (const item of list) {
    const key = keyIn(item, names);
    if (key !== undefined && !found.has(key)) found.set(key, item);
  }
  return found;
}

function isSame(value: unknown, old: unknown, schema: CompiledSchema | undefined): boolean {
  if (value === old) return true;
  if (schema?.hasListTypes !== true) return deepEqual(value, old);
  if (Array.isArray(value)) return Array.isArray(old) && isSameList(value, old, schema);
  if (!isJsonObject(value) || !isJsonObject(old)) return false;
  const names = Object.keys(value);
  if (names.length !== Object.keys(old).length) return false;
  return names.every(
    (name) => Object.hasOwn(old, name) && isSame(value[name], old[name], schema.field(name)),
  );
}

function isSameList(
  list: readonly unknown[],
  old: readonly unknown[],
  schema: CompiledSchema,
): boolean {
  if (list.length !== old.length) return false;
  const { items, listType, listKeys } = schema;
  if (listType === "set") {
    const before = new Set(old.map(identity));
    return list.every((item) => before.has(identity(item)));
  }
  if (listType !== "map") return list.every((item, index) => isSame(item, old[index], items));
  const before = keyed(old, listKeys);
  return list.every((item) => {
    const match = before.get(keyIn(item, listKeys));
    return match !== undefined && isSame(item, match, items);
  });
}
