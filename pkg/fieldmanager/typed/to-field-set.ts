import { isJsonObject, type JsonObject, sliceLength, type Slices } from "#base";
import { emptySet, type FieldSet, leaf } from "../fieldpath/set.ts";
import { fieldElement, type PathElement, selfKey } from "../fieldpath/path-element.ts";
import type { ListShape, MapShape, Shape } from "./shape.ts";
import {
  formOf,
  isEmptyMap,
  itemsByElement,
  itemsByElementInSlices,
  listIn,
  mapIn,
  memberShape,
  treatedAs,
} from "./value.ts";

/**
 * The paths that a configuration sets: its scalars and atomic values, the elements of its lists and the
 * keys of its maps, but not declared fields that contain others.
 */
export function toFieldSet(shape: Shape, configuration: JsonObject): FieldSet {
  return nodeAt(shape, configuration, false) ?? emptySet;
}

/** As `toFieldSet`, with so many levels in slices (`slicedLevelsOf`). */
export function* toFieldSetInSlices(
  shape: Shape,
  configuration: JsonObject,
  levels: number,
): Slices<FieldSet> {
  return (yield* nodeInSlices(shape, configuration, { self: false, levels })) ?? emptySet;
}

/** With `self`, the path itself is a member for every value. */
function nodeAt(shape: Shape, value: unknown, self: boolean): FieldSet | undefined {
  switch (treatedAs(shape, formOf(shape, value))) {
    case "list": {
      const list = shape.list as ListShape;
      if (list.relation === "atomic") return leaf;
      return pathsInList(list, listIn(value) ?? [], self);
    }
    case "map": {
      const map = shape.map as MapShape;
      if (map.atomic) return leaf;
      return pathsInMap(map, mapIn(value) ?? {}, self);
    }
    default:
      return leaf;
  }
}

type Draft = Record<PathElement, FieldSet>;

const draftOf = (self: boolean): Draft => (self ? { [selfKey]: leaf } : {});

function pathsInMap(map: MapShape, value: JsonObject, self: boolean): FieldSet | undefined {
  const paths = draftOf(self);
  let isLeaf = true;
  for (const name in value) {
    const member = value[name];
    if (member === undefined) continue;
    const node = nodeAt(memberShape(map, name), member, isMemberItself(map, name, member));
    if (node === undefined) continue;
    paths[fieldElement(name)] = node;
    isLeaf = false;
  }
  if (isLeaf) return self ? leaf : undefined;
  return paths;
}

/** Whether a member of a map is a member of the set, too, not only what is below it. */
function isMemberItself(map: MapShape, name: string, member: unknown): boolean {
  if (member === null || !map.fields.has(name)) return true;
  return isJsonObject(member) && isEmptyMap(member);
}

function pathsInList(
  list: ListShape,
  items: readonly unknown[],
  self: boolean,
): FieldSet | undefined {
  if (items.length === 0) return self ? leaf : undefined;
  const paths = draftOf(self);
  for (const [element, same] of itemsByElement(list, items)) {
    paths[element] = same.length > 1 ? leaf : (nodeAt(list.element, same[0], true) ?? leaf);
  }
  return paths;
}

interface SlicedNode {
  readonly self: boolean;
  readonly levels: number;
}

/** As `nodeAt`, in slices; generators for all levels would take twice the time. */
function* nodeInSlices(
  shape: Shape,
  value: unknown,
  { self, levels }: SlicedNode,
): Slices<FieldSet | undefined> {
  const form = treatedAs(shape, formOf(shape, value));
  if (levels > 0 && form === "map" && shape.map?.atomic === false && isJsonObject(value)) {
    return yield* pathsInMapInSlices(shape.map, value, { self, levels });
  }
  const isList = form === "list" && shape.list?.relation !== "atomic" && Array.isArray(value);
  if (levels > 0 && isList && value.length > sliceLength) {
    return yield* pathsInListInSlices(shape.list as ListShape, value, self);
  }
  return nodeAt(shape, value, self);
}

function* pathsInMapInSlices(
  map: MapShape,
  value: JsonObject,
  { self, levels }: SlicedNode,
): Slices<FieldSet | undefined> {
  const paths = draftOf(self);
  let count = 0;
  for (const name in value) {
    const member = value[name];
    if (member === undefined) continue;
    const below = { self: isMemberItself(map, name, member), levels: levels - 1 };
    const shape = memberShape(map, name);
    const node =
      typeof member === "object"
        ? yield* nodeInSlices(shape, member, below)
        : nodeAt(shape, member, below.self);
    if (node === undefined) continue;
    paths[fieldElement(name)] = node;
    if (++count % sliceLength === 0) yield;
  }
  if (count === 0) return self ? leaf : undefined;
  return paths;
}

function* pathsInListInSlices(
  list: ListShape,
  items: readonly unknown[],
  self: boolean,
): Slices<FieldSet> {
  const paths = draftOf(self);
  let count = 0;
  for (const [element, same] of yield* itemsByElementInSlices(list, items)) {
    paths[element] = same.length > 1 ? leaf : (nodeAt(list.element, same[0], true) ?? leaf);
    if (++count % sliceLength === 0) yield;
  }
  return paths;
}
