import {
  atOnce,
  compareUtf8,
  deepEqual,
  isJsonObject,
  type JsonObject,
  memoize,
  sliceLength,
  type Slices,
  sortedKeys,
  sortedKeysInSlices,
  sortInSlices,
} from "#base";
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
 * The fields that a create sets, encoded as FieldsV1: the paths that `compare` finds between the zero
 * object of the kind and the new one, without those of `excluded` and those below them. "" if there are
 * none. As creates are frequent, the type's declaration is compiled into functions that print FieldsV1
 * from the decoded object, without JSON values and sets in between.
 *
 * @throws ElementError
 */
export function createdFields(
  struct: StructType<any>,
  object: JsonObject,
  excluded: FieldSet,
): string {
  const text = structDifference(struct)(object, excluded);
  return text === leafJson ? "" : text;
}

/** As `createdFields`, in slices. */
export function* createdFieldsInSlices(
  struct: StructType<any>,
  object: JsonObject,
  excluded: FieldSet,
): Slices<string> {
  const text = yield* structDifferenceInSlices(struct)(object, excluded);
  return text === leafJson ? "" : text;
}

/** Prints the node of a decoded value; "" if it is empty. */
type Emit = (value: any, excluded: FieldSet | undefined) => string;

/** As `Emit`, in slices. */
type EmitInSlices = (value: any, excluded: FieldSet | undefined) => Slices<string>;

/** A member without members below it. */
const leafJson = "{}";

/** Start of a member with members below it. */
const selfPrefix = '{".":{}';

interface FieldEmitter {
  readonly element: PathElement;
  /** `"f:name":` */
  readonly label: string;
  /** The field's value in an object; undefined if JSON omits it. */
  readonly shown: (object: any) => unknown;
  /** Prints what differs from the zero value. */
  readonly emit: Emit;
  /** As `emit`, in slices; undefined for values that are not large. */
  readonly emitInSlices: EmitInSlices | undefined;
  /** Prints every path of the value, whose parent is new. */
  readonly emitEvery: Emit;
}

/** The emitters of a struct's fields, sorted by name. */
const fieldEmitters = memoize((struct: StructType<any>): readonly FieldEmitter[] => {
  const { map } = rootShape(struct);
  const zero = toJsonValue(struct, fromJson(struct, {}));
  const members = jsonMembers(struct).map(({ field, shown, isAlwaysThere }) => {
    const shape = map?.fields.get(field.name) ?? {};
    const type = resolved(field.type);
    const emitEvery = everyOf(type, shape);
    const [emit, emitInSlices] = isAlwaysThere
      ? [
          differenceFromZero(type, shape, zero[field.name]),
          differenceInSlices(type, shape, zero[field.name]),
        ]
      : [emitEvery, everyOfInSlices(type, shape)];
    const element = fieldElement(field.name);
    const label = `${JSON.stringify(element)}:`;
    return { name: field.name, element, label, shown, emit, emitInSlices, emitEvery };
  });
  return members.sort((a, b) => compareUtf8(a.name, b.name));
});

/** Prints the fields of a struct that differ from the zero struct. */
function structDifference(struct: StructType<any>): Emit {
  let emitters: readonly FieldEmitter[] | undefined;
  return (object, excluded) => {
    emitters ??= fieldEmitters(struct);
    if (struct.open !== undefined) {
      return atOnce(openStructDifference(struct, emitters, { object, excluded }));
    }
    let text = "";
    for (const { element, label, shown, emit } of emitters) {
      const value = shown(object);
      const excludedNode = excluded?.[element];
      if (value === undefined || isExcluded(excludedNode)) continue;
      const node = emit(value, excludedNode);
      if (node !== "") text += `${text === "" ? "{" : ","}${label}${node}`;
    }
    return text === "" ? "" : `${text}}`;
  };
}

/** As `structDifference`, in slices. */
function structDifferenceInSlices(struct: StructType<any>): EmitInSlices {
  return function* (object, excluded) {
    const emitters = fieldEmitters(struct);
    if (struct.open !== undefined) {
      return yield* openStructDifference(struct, emitters, { object, excluded });
    }
    let text = "";
    for (const emitter of emitters) {
      const value = emitter.shown(object);
      const excludedNode = excluded?.[emitter.element];
      if (value === undefined || isExcluded(excludedNode)) continue;
      const node = yield* emitField(emitter, value, excludedNode);
      if (node !== "") text += `${text === "" ? "{" : ","}${emitter.label}${node}`;
    }
    return text === "" ? "" : `${text}}`;
  };
}

/** Prints a field with `emitInSlices` if it has one. */
function* emitField(
  { emit, emitInSlices }: FieldEmitter,
  value: unknown,
  excluded: FieldSet | undefined,
): Slices<string> {
  const isSliced = emitInSlices !== undefined && value !== null;
  return isSliced ? yield* emitInSlices(value, excluded) : emit(value, excluded);
}

/** Whether a field is excluded as a whole; otherwise paths below it may be. */
function isExcluded(node: FieldSet | undefined): boolean {
  return node !== undefined && isMember(node) && !hasInner(node);
}

interface OpenObject {
  readonly object: JsonObject;
  readonly excluded: FieldSet | undefined;
}

/**
 * As `structDifference`, for a struct with members beside its declared fields, as custom resources
 * have; prints both sorted by name. Such members are excluded only as a whole.
 */
function* openStructDifference(
  struct: StructType<any>,
  emitters: readonly FieldEmitter[],
  { object, excluded }: OpenObject,
): Slices<string> {
  const map = rootShape(struct).map as MapShape;
  let text = "";
  for (const name of sortedKeys(object)) {
    const element = fieldElement(name);
    const excludedNode = excluded?.[element];
    if (isExcluded(excludedNode)) continue;
    const emitter = emitters.find((candidate) => candidate.element === element);
    const value = emitter === undefined ? object[name] : emitter.shown(object);
    if (value === undefined) continue;
    const node =
      emitter === undefined
        ? yield* everyValueInSlices(memberShape(map, name), value, openLevels)
        : yield* emitField(emitter, value, excludedNode);
    if (node !== "") text += `${text === "" ? "{" : ","}${JSON.stringify(element)}:${node}`;
  }
  return text === "" ? "" : `${text}}`;
}

/** Levels below a custom resource's root whose maps are printed in slices. */
const openLevels = 2;

/** As `everyValue`, in slices. */
function* everyValueInSlices(shape: Shape, value: unknown, levels: number): Slices<string> {
  const { map, list } = shape;
  if (levels > 0 && list !== undefined && list.relation !== "atomic" && Array.isArray(value)) {
    return yield* everyItemInSlices(list, value, (item) => everyValue(list.element, item));
  }
  const isMap = map !== undefined && !map.atomic && isJsonObject(value);
  if (levels === 0 || !isMap) return everyValue(shape, value);
  return yield* everyMemberInSlices(value, (key, member) => {
    const memberType = memberShape(map, key);
    return typeof member === "object"
      ? everyValueInSlices(memberType, member, levels - 1)
      : everyValue(memberType, member);
  });
}

/** Prints all members of a map in slices. */
function* everyMemberInSlices(
  map: JsonObject,
  emitMember: (key: string, member: unknown) => string | Slices<string>,
): Slices<string> {
  let text = selfPrefix;
  for (const [index, key] of (yield* sortedKeysInSlices(map)).entries()) {
    if (index % sliceLength === 0) yield;
    const member = map[key];
    if (member === undefined) continue;
    const node = emitMember(key, member);
    text += `,${fieldLabel(key)}:${typeof node === "string" ? node : yield* node}`;
  }
  return text === selfPrefix ? leafJson : `${text}}`;
}

/** As `everyList`, in slices. */
function* everyItemInSlices(
  list: ListShape,
  items: readonly unknown[],
  emitItem: Emit,
): Slices<string> {
  if (items.length <= sliceLength) return everyList(list, emitItem)(items, undefined);
  const toPair = pairOf(list);
  const pairs: Pair[] = [];
  for (const item of items) if (pairs.push(toPair(item)) % sliceLength === 0) yield;
  const ordered = yield* sortInSlices(pairs, orderOf(list));
  let text = selfPrefix;
  for (let from = 0; from < ordered.length;) {
    // Items with equal keys are printed together.
    let to = Math.min(from + sliceLength, ordered.length);
    while (to < ordered.length && ordered[to]?.[0] === ordered[to - 1]?.[0]) to++;
    const part = ordered.slice(from, to);
    text += printPairs(part, emitItem);
    from = to;
    yield;
  }
  return `${text}}`;
}

/** Prints the path of an added JSON value and all paths below it. */
function everyValue(shape: Shape, value: unknown): string {
  switch (treatedAs(shape, formOf(shape, value))) {
    case "map": {
      const map = shape.map as MapShape;
      return map.atomic || !isJsonObject(value) ? leafJson : everyMember(map, value);
    }
    case "list": {
      const list = shape.list as ListShape;
      return list.relation === "atomic" || !Array.isArray(value)
        ? leafJson
        : everyItem(list)(value, undefined);
    }
    default:
      return leafJson;
  }
}

function everyMember(map: MapShape, value: JsonObject): string {
  let text = selfPrefix;
  for (const key of sortedKeys(value)) {
    const member = value[key];
    if (member === undefined) continue;
    text += `,${fieldLabel(key)}:${everyValue(memberShape(map, key), member)}`;
  }
  return text === selfPrefix ? leafJson : `${text}}`;
}

const everyItem = memoize((list: ListShape): Emit =>
  everyList(list, (item) => everyValue(list.element, item)),
);

/** For a field that JSON always contains: prints how a value differs from the zero value. */
function differenceFromZero(type: Type, shape: Shape, zero: unknown): Emit {
  if (type.tag === "struct" && zero !== null) {
    if (!isAtomic(shape)) return structDifference(type);
    // Compares JSON, since decoded structs may differ in fields that JSON omits.
    return (value) => (deepEqual(toJsonValue(type, value), zero) ? "" : leafJson);
  }
  if (isAtomic(shape)) return (value) => (deepEqual(value, zero) ? "" : leafJson);
  const emitEvery = everyOf(type, shape);
  return (value, excluded) => {
    return value === null ? "" : withoutSelf(emitEvery(value, excluded));
  };
}

/** The zero object has null here: the path exists already, only those below it are added. */
function withoutSelf(node: string): string {
  return node === leafJson ? leafJson : `{${node.slice(selfPrefix.length + 1)}`;
}

/** As `differenceFromZero`, in slices; undefined for values that are not large. */
function differenceInSlices(type: Type, shape: Shape, zero: unknown): EmitInSlices | undefined {
  if (type.tag === "struct") {
    return zero === null || isAtomic(shape) ? undefined : structDifferenceInSlices(type);
  }
  const every = everyOfInSlices(type, shape);
  if (every === undefined) return undefined;
  return function* (value, excluded) {
    return withoutSelf(yield* every(value, excluded));
  };
}

/** Whether values of the shape are managed as a whole. */
function isAtomic({ list, map, scalar }: Shape): boolean {
  if (scalar !== undefined) return true;
  return map === undefined ? list === undefined || list.relation === "atomic" : map.atomic;
}

const emitLeaf: Emit = () => leafJson;

/** Prints the path of an added value and all paths below it. */
function everyOf(type: Type, shape: Shape): Emit {
  if (isAtomic(shape)) return emitLeaf;
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
      return emitLeaf;
  }
}

/** As `everyOf`, in slices; undefined for values that are not large. */
function everyOfInSlices(type: Type, shape: Shape): EmitInSlices | undefined {
  if (isAtomic(shape)) return undefined;
  if (type.tag === "map") {
    return (map) => {
      const emitValue = everyOf(resolved(type.value), shape.map?.element ?? {});
      return everyMemberInSlices(map, (_key, member) => emitValue(member, undefined));
    };
  }
  if (type.tag !== "list") return undefined;
  return (items) => {
    const list = shape.list as ListShape;
    return everyItemInSlices(list, items, everyOf(resolved(type.element), list.element));
  };
}

function everyStruct(struct: StructType<any>): Emit {
  let emitters: readonly FieldEmitter[] | undefined;
  return (object) => {
    if (object === null) return leafJson;
    emitters ??= fieldEmitters(struct);
    let text = selfPrefix;
    for (const { label, shown, emitEvery } of emitters) {
      const value = shown(object);
      if (value !== undefined) text += `,${label}${emitEvery(value, undefined)}`;
    }
    return text === selfPrefix ? leafJson : `${text}}`;
  };
}

function everyMap(emitValue: Emit): Emit {
  return (map) => {
    if (map === null) return leafJson;
    let text = selfPrefix;
    for (const key of sortedKeys(map)) {
      if (map[key] === undefined) continue;
      text += `,${fieldLabel(key)}:${emitValue(map[key], undefined)}`;
    }
    return text === selfPrefix ? leafJson : `${text}}`;
  };
}

function fieldLabel(name: string): string {
  return isPlain(name) ? `"f:${name}"` : JSON.stringify(fieldElement(name));
}

function everyList(list: ListShape, emitItem: Emit): Emit {
  const toPair = pairOf(list);
  return (items) => {
    if (items === null || items.length === 0) return leafJson;
    const pairs = inOrder(list, items.map(toPair));
    return `${selfPrefix}${printPairs(pairs, emitItem)}}`;
  };
}

/** Prints sorted items, each after a comma. */
function printPairs(pairs: readonly Pair[], emitItem: Emit): string {
  let text = "";
  for (let index = 0; index < pairs.length; index++) {
    const [label, item] = pairs[index] as Pair;
    const isDuplicate = pairs[index + 1]?.[0] === label;
    // Items with duplicate keys are managed as a whole.
    const node = isDuplicate ? leafJson : emitItem(item, undefined);
    while (pairs[index + 1]?.[0] === label) index++;
    text += `,${label}:${node}`;
  }
  return text;
}

/** An item and its path element as a JSON string; equal labels are equal elements. */
type Pair = readonly [label: string, item: unknown];

/** Most keys are plain strings and integers, whose labels are concatenated without JSON.stringify. */
function pairOf(list: ListShape): (item: unknown) => Pair {
  const keys = list.keys.map(([name, fallback]) => {
    return [name, fallback, `${JSON.stringify(JSON.stringify(name)).slice(1, -1)}:`] as const;
  });
  return (item) => {
    let text = "";
    if (isJsonObject(item)) {
      for (const [name, fallback, quotedName] of keys) {
        const value = keyIn(item, name);
        const quotedValue = plainLabel(value === undefined ? fallback : value);
        if (quotedValue === "") return [JSON.stringify(elementOf(list, item)), item];
        text += `${text === "" ? "" : ","}${quotedName}${quotedValue}`;
      }
    } else if (list.relation === "set" && plainLabel(item) !== "") {
      return [`"v:${plainLabel(item)}"`, item];
    }
    if (text === "") return [JSON.stringify(elementOf(list, item)), item];
    return [`"k:{${text}}"`, item];
  };
}

/** The key value in a label; "" unless it is a plain string or an integer. */
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

/** The order of path elements; compares the values of the first key where they differ and have one type. */
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
