import { compareUtf8, deepEqual, memoize } from "#base";
import { fromJson, jsonMembers, resolved, type StructType, toJsonValue, type Type } from "#schema";
import { type FieldSet, isEmptySet, leaf } from "./field-set.ts";
import { compareElements, fieldElement, type PathElement, SELF } from "./path-element.ts";
import { type ListShape, rootShape, type Shape } from "./shape.ts";
import { elementOf, type JsonObject } from "./value.ts";

/**
 * What a creation sets: what `compare` finds between the object of a kind with nothing set and a
 * new one, in the order of FieldsV1. Creating is the most frequent write, so this is folded from
 * the declaration into functions that read objects as they lie in memory, without a detour over
 * JSON.
 */
export function createdFields(struct: StructType<any>, object: JsonObject): FieldSet {
  return freshStruct(struct)(object) ?? leaf;
}

/** Undefined for nothing. Values are in normal form. */
type Emit = (value: any) => FieldSet | undefined;

type Draft = Record<PathElement, FieldSet>;

interface Step {
  readonly element: PathElement;
  readonly shown: (object: any) => unknown;
  /** Of a value where there was none. */
  readonly every: Emit;
  /** Of a value in the place of the zero value that is always there; undefined: there was none. */
  readonly fresh: Emit | undefined;
}

/** The fields of a struct in the order of their names. */
const stepsOf = memoize((struct: StructType<any>): readonly Step[] => {
  const { map } = rootShape(struct);
  const zero = toJsonValue(struct, fromJson(struct, {}));
  const members = jsonMembers(struct).map(({ field, shown, isAlwaysThere }) => {
    const shape = map?.fields.get(field.name) ?? {};
    const type = resolved(field.type);
    const fresh = isAlwaysThere ? freshOf(type, shape, zero[field.name]) : undefined;
    return { name: field.name, shown, every: everyOf(type, shape), fresh };
  });
  members.sort((a, b) => compareUtf8(a.name, b.name));
  return members.map(({ name, ...step }) => ({ element: fieldElement(name), ...step }));
});

/** What a struct adds to the same struct with nothing set. */
function freshStruct(struct: StructType<any>): Emit {
  let steps: readonly Step[] | undefined;
  return (object) => {
    steps ??= stepsOf(struct);
    let draft: Draft | undefined;
    for (const { element, shown, every, fresh } of steps) {
      const value = shown(object);
      if (value === undefined) continue;
      const node = (fresh ?? every)(value);
      if (node !== undefined) (draft ??= {})[element] = node;
    }
    return draft;
  };
}

function freshOf(type: Type, shape: Shape, zero: unknown): Emit {
  if (type.tag === "struct" && zero !== null) {
    if (!isUnit(shape)) return freshStruct(type);
    // As JSON shows both, whatever hides in memory.
    return (value) => (deepEqual(toJsonValue(type, value), zero) ? undefined : leaf);
  }
  if (isUnit(shape)) return (value) => (deepEqual(value, zero) ? undefined : leaf);
  const every = everyOf(type, shape);
  return (value) => {
    if (value === null) return undefined;
    const node = every(value);
    // Null was there before: the value is new in what it holds, not by itself.
    return node === undefined || isEmptySet(node) ? leaf : inner(node);
  };
}

function inner(node: FieldSet): FieldSet {
  const { [SELF]: _self, ...below } = node;
  return below;
}

/** Whether a value of the shape is owned as a whole. */
function isUnit({ list, map, scalar }: Shape): boolean {
  if (scalar !== undefined) return true;
  return map === undefined ? list === undefined || list.relation === "atomic" : map.atomic;
}

const unit: Emit = () => leaf;

/** The path of a value that is new, and every path below. */
function everyOf(type: Type, shape: Shape): Emit {
  if (isUnit(shape)) return unit;
  switch (type.tag) {
    case "struct":
      return everyStruct(type);
    case "map":
      return everyMap(everyOf(resolved(type.value), shape.map?.element ?? {}));
    case "list": {
      const list = shape.list as ListShape;
      return everyList(list, everyOf(resolved(type.element), list.element));
    }
    default:
      return unit;
  }
}

function everyStruct(struct: StructType<any>): Emit {
  let steps: readonly Step[] | undefined;
  return (object) => {
    if (object === null) return leaf;
    steps ??= stepsOf(struct);
    let draft: Draft | undefined;
    for (const { element, shown, every } of steps) {
      const value = shown(object);
      if (value === undefined) continue;
      const node = every(value);
      if (node !== undefined) (draft ??= { [SELF]: leaf })[element] = node;
    }
    return draft ?? leaf;
  };
}

function everyMap(every: Emit): Emit {
  return (map) => {
    if (map === null) return leaf;
    let draft: Draft | undefined;
    const keys = Object.keys(map);
    if (keys.length > 1) keys.sort(compareUtf8);
    for (const key of keys) {
      const node = map[key] === undefined ? undefined : every(map[key]);
      if (node !== undefined) (draft ??= { [SELF]: leaf })[fieldElement(key)] = node;
    }
    return draft ?? leaf;
  };
}

function everyList(list: ListShape, every: Emit): Emit {
  return (items) => {
    if (items === null || items.length === 0) return leaf;
    const draft: Draft = { [SELF]: leaf };
    for (const [element, item] of elementsOf(list, items)) {
      const isTwice = Object.hasOwn(draft, element);
      draft[element] = isTwice ? leaf : (every(item) ?? leaf);
    }
    return draft;
  };
}

type Pair = readonly [element: PathElement, item: unknown];

function elementsOf(list: ListShape, items: readonly unknown[]): readonly Pair[] {
  const pairs = items.map((item): Pair => [elementOf(list, item), item]);
  const order = orderOf(list);
  for (let index = 1; index < pairs.length; index++) {
    if (order(pairs[index - 1] as Pair, pairs[index] as Pair) > 0) return pairs.sort(order);
  }
  return pairs;
}

/** The order of elements, by their values where those are of one simple type. */
function orderOf({ keys }: ListShape): (left: Pair, right: Pair) => number {
  const [[name = undefined] = [], ...more] = keys;
  return ([element, item], [other, otherItem]) => {
    const [a, b] =
      name === undefined ? [item, otherItem] : [keyIn(item, name), keyIn(otherItem, name)];
    if (typeof a === "string" && typeof b === "string" && a !== b) return compareUtf8(a, b);
    if (typeof a === "number" && typeof b === "number" && a !== b) return a - b;
    return more.length === 0 && element === other ? 0 : compareElements(element, other);
  };
}

function keyIn(item: unknown, name: string): unknown {
  return (item as JsonObject)[name];
}
