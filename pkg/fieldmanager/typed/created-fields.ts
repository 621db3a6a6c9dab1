import { compareUtf8, deepEqual, isJsonObject, type JsonObject, memoize, sortedKeys } from "#base";
import { fromJson, jsonMembers, resolved, type StructType, toJsonValue, type Type } from "#schema";
import { type FieldSet, hasInner, isMember } from "../fieldpath/set.ts";
import {
  compareElements,
  fieldElement,
  isPlain,
  type PathElement,
} from "../fieldpath/path-element.ts";
import { type ListShape, type MapShape, rootShape, type Shape } from "./shape.ts";
import { elementOf, formOf, memberShape, treatedAs } from "./value.ts";

/**
 * What a creation sets, as the text of FieldsV1: what `compare` finds between the object of a kind
 * with nothing set and a new one, without the paths of `left` and what lies below them. Creating is
 * the most frequent write, so this is folded from the declaration into functions that read objects
 * as they lie in memory and write text, without a detour over JSON values and sets. "" for nothing.
 *
 * @throws ElementError
 */
export function createdFields(struct: StructType<any>, object: JsonObject, left: FieldSet): string {
  const text = freshStruct(struct)(object, left);
  return text === LEAF ? "" : text;
}

/** The text of the node that a value makes; "" for nothing. Values are in normal form. */
type Emit = (value: any, left: FieldSet | undefined) => string;

/** A member with nothing below. */
const LEAF = "{}";

/** Begins a member with something below. */
const ITSELF = '{".":{}';

interface Step {
  readonly element: PathElement;
  /** `"f:name":` */
  readonly head: string;
  readonly shown: (object: any) => unknown;
  readonly emit: Emit;
  /** Emits the fields of a value where there was none. */
  readonly every: Emit;
}

/** The fields of a struct in the order of their names. */
const stepsOf = memoize((struct: StructType<any>): readonly Step[] => {
  const { map } = rootShape(struct);
  const zero = toJsonValue(struct, fromJson(struct, {}));
  const members = jsonMembers(struct).map(({ field, shown, isAlwaysThere }) => {
    const shape = map?.fields.get(field.name) ?? {};
    const type = resolved(field.type);
    const every = everyOf(type, shape);
    const emit = isAlwaysThere ? freshOf(type, shape, zero[field.name]) : every;
    const element = fieldElement(field.name);
    return { name: field.name, element, head: `${JSON.stringify(element)}:`, shown, emit, every };
  });
  return members.sort((a, b) => compareUtf8(a.name, b.name));
});

/** What a struct adds to the same struct with nothing set. */
function freshStruct(struct: StructType<any>): Emit {
  let steps: readonly Step[] | undefined;
  return (object, left) => {
    steps ??= stepsOf(struct);
    if (struct.open !== undefined) return freshOpen(struct, steps, { object, left });
    let text = "";
    for (const { element, head, shown, emit } of steps) {
      const value = shown(object);
      if (value === undefined) continue;
      const out = left?.[element];
      // What is left out as a whole; one that only leads there goes on below.
      if (out !== undefined && isMember(out) && !hasInner(out)) continue;
      const node = emit(value, out);
      if (node !== "") text += `${text === "" ? "{" : ","}${head}${node}`;
    }
    return text === "" ? "" : `${text}}`;
  };
}

interface OpenObject {
  readonly object: JsonObject;
  readonly left: FieldSet | undefined;
}

/**
 * The same for a struct that has members beside its fields, as custom resources have, in the order
 * of all names. Of such members only whole ones are left out.
 */
function freshOpen(
  struct: StructType<any>,
  steps: readonly Step[],
  { object, left }: OpenObject,
): string {
  const map = rootShape(struct).map as MapShape;
  let text = "";
  for (const name of sortedKeys(object)) {
    const element = fieldElement(name);
    const out = left?.[element];
    if (out !== undefined && isMember(out) && !hasInner(out)) continue;
    const step = steps.find((each) => each.element === element);
    const value = step === undefined ? object[name] : step.shown(object);
    if (value === undefined) continue;
    const node =
      step === undefined ? everyValue(memberShape(map, name), value) : step.emit(value, out);
    if (node !== "") text += `${text === "" ? "{" : ","}${JSON.stringify(element)}:${node}`;
  }
  return text === "" ? "" : `${text}}`;
}

/** The path of a JSON value that is new, and every path below. */
function everyValue(shape: Shape, value: unknown): string {
  switch (treatedAs(shape, formOf(shape, value))) {
    case "map": {
      const map = shape.map as MapShape;
      return map.atomic || !isJsonObject(value) ? LEAF : everyMember(map, value);
    }
    case "list": {
      const list = shape.list as ListShape;
      return list.relation === "atomic" || !Array.isArray(value)
        ? LEAF
        : everyItem(list)(value, undefined);
    }
    default:
      return LEAF;
  }
}

function everyMember(map: MapShape, value: JsonObject): string {
  let text = ITSELF;
  for (const key of sortedKeys(value)) {
    const member = value[key];
    if (member === undefined) continue;
    text += `,${fieldLabel(key)}:${everyValue(memberShape(map, key), member)}`;
  }
  return text === ITSELF ? LEAF : `${text}}`;
}

const everyItem = memoize((list: ListShape): Emit =>
  everyList(list, (item) => everyValue(list.element, item)),
);

/** Emits the fields of a value that replaces the zero value that is always there. */
function freshOf(type: Type, shape: Shape, zero: unknown): Emit {
  if (type.tag === "struct" && zero !== null) {
    if (!isUnit(shape)) return freshStruct(type);
    // As JSON shows both, whatever hides in memory.
    return (value) => (deepEqual(toJsonValue(type, value), zero) ? "" : LEAF);
  }
  if (isUnit(shape)) return (value) => (deepEqual(value, zero) ? "" : LEAF);
  const every = everyOf(type, shape);
  return (value, left) => {
    if (value === null) return "";
    const node = every(value, left);
    // Null was there before: the value is new in what it holds, not by itself.
    return node === LEAF ? LEAF : `{${node.slice(ITSELF.length + 1)}`;
  };
}

/** Whether a value of the shape is owned as a whole. */
function isUnit({ list, map, scalar }: Shape): boolean {
  if (scalar !== undefined) return true;
  return map === undefined ? list === undefined || list.relation === "atomic" : map.atomic;
}

const unit: Emit = () => LEAF;

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
    if (object === null) return LEAF;
    steps ??= stepsOf(struct);
    let text = ITSELF;
    for (const { head, shown, every } of steps) {
      const value = shown(object);
      if (value !== undefined) text += `,${head}${every(value, undefined)}`;
    }
    return text === ITSELF ? LEAF : `${text}}`;
  };
}

function everyMap(every: Emit): Emit {
  return (map) => {
    if (map === null) return LEAF;
    let text = ITSELF;
    for (const key of sortedKeys(map)) {
      if (map[key] === undefined) continue;
      text += `,${fieldLabel(key)}:${every(map[key], undefined)}`;
    }
    return text === ITSELF ? LEAF : `${text}}`;
  };
}

function fieldLabel(name: string): string {
  return isPlain(name) ? `"f:${name}"` : JSON.stringify(fieldElement(name));
}

function everyList(list: ListShape, every: Emit): Emit {
  const labelled = labelsOf(list);
  return (items) => {
    if (items === null || items.length === 0) return LEAF;
    let text = ITSELF;
    const pairs = inOrder(list, items.map(labelled));
    for (let index = 0; index < pairs.length; index++) {
      const [label, item] = pairs[index] as Pair;
      const isTwice = pairs[index + 1]?.[0] === label;
      // Items that share their keys are one unit.
      const node = isTwice ? LEAF : every(item, undefined);
      while (pairs[index + 1]?.[0] === label) index++;
      text += `,${label}:${node}`;
    }
    return `${text}}`;
  };
}

/** An item, and its path element as it stands in JSON: equal labels are equal elements. */
type Pair = readonly [label: string, item: unknown];

/** Most keys are plain texts and numbers, whose JSON inside of JSON is put together at once. */
function labelsOf(list: ListShape): (item: unknown) => Pair {
  const keys = list.keys.map(([name, absent]) => {
    return [name, absent, `${JSON.stringify(JSON.stringify(name)).slice(1, -1)}:`] as const;
  });
  return (item) => {
    let text = "";
    if (isJsonObject(item)) {
      for (const [name, absent, head] of keys) {
        const value = keyIn(item, name);
        const shown = plainLabel(value === undefined ? absent : value);
        if (shown === "") return [JSON.stringify(elementOf(list, item)), item];
        text += `${text === "" ? "" : ","}${head}${shown}`;
      }
    }
    if (text === "") return [JSON.stringify(elementOf(list, item)), item];
    return [`"k:{${text}}"`, item];
  };
}

/** "" for what is not plain. */
function plainLabel(value: unknown): string {
  if (typeof value === "string") return isPlain(value) ? `\\"${value}\\"` : "";
  return Number.isSafeInteger(value) ? String(value) : "";
}

function inOrder(list: ListShape, pairs: Pair[]): readonly Pair[] {
  const order = orderOf(list);
  for (let index = 1; index < pairs.length; index++) {
    if (order(pairs[index - 1] as Pair, pairs[index] as Pair) > 0) return pairs.sort(order);
  }
  return pairs;
}

/** The order of elements, by their values where those are of one simple type. */
function orderOf(list: ListShape): (left: Pair, right: Pair) => number {
  const [[name = undefined] = []] = list.keys;
  return ([label, item], [other, otherItem]) => {
    if (label === other) return 0;
    const [a, b] =
      name === undefined ? [item, otherItem] : [keyIn(item, name), keyIn(otherItem, name)];
    if (typeof a === "string" && typeof b === "string" && a !== b) return compareUtf8(a, b);
    if (typeof a === "number" && typeof b === "number" && a !== b) return a - b;
    return compareElements(elementOf(list, item), elementOf(list, otherItem));
  };
}

function keyIn(item: unknown, name: string): unknown {
  return (item as JsonObject)[name];
}
