import { atOnce, isJsonObject, type JsonObject, type Slices } from "#base";
import { emptySet, type FieldSet, leaf } from "../fieldpath/set.ts";
import { fieldElement, type PathElement, selfKey } from "../fieldpath/path-element.ts";
import type { ListShape, MapShape, Shape } from "./shape.ts";
import {
  formOf,
  isEmptyMap,
  itemsByElementInSlices,
  listIn,
  mapIn,
  memberShape,
  sliceLength,
  treatedAs,
} from "./value.ts";

/**
 * The paths that a configuration sets: its scalars and atomic values, the elements of its lists and the
 * keys of its maps, but not declared fields that contain others.
 */
export function* toFieldSetInSlices(shape: Shape, configuration: JsonObject): Slices<FieldSet> {
  return (yield* nodeAt(shape, configuration, false)) ?? emptySet;
}

/** As `toFieldSetInSlices`, in one pass. */
export function toFieldSet(shape: Shape, configuration: JsonObject): FieldSet {
  return atOnce(toFieldSetInSlices(shape, configuration));
}

/** With `self`, the path itself is a member for every value. */
function* nodeAt(shape: Shape, value: unknown, self: boolean): Slices<FieldSet | undefined> {
  switch (treatedAs(shape, formOf(shape, value))) {
    case "list": {
      const list = shape.list as ListShape;
      if (list.relation === "atomic") return leaf;
      return yield* pathsInList(list, listIn(value) ?? [], self);
    }
    case "map": {
      const map = shape.map as MapShape;
      if (map.atomic) return leaf;
      return yield* pathsInMap(map, mapIn(value) ?? {}, self);
    }
    default:
      return leaf;
  }
}

function* pathsInMap(
  map: MapShape,
  value: JsonObject,
  self: boolean,
): Slices<FieldSet | undefined> {
  const paths: Record<PathElement, FieldSet> = self ? { [selfKey]: leaf } : {};
  let count = 0;
  for (const name in value) {
    const member = value[name];
    if (member === undefined) continue;
    const shape = memberShape(map, name);
    const isSelf = !map.fields.has(name) || isNullOrEmpty(member);
    const isScalar = typeof member !== "object" && shape.scalar !== undefined;
    const node = isScalar ? leaf : yield* nodeAt(shape, member, isSelf);
    if (node === undefined) continue;
    paths[fieldElement(name)] = node;
    if (++count % sliceLength === 0) yield;
  }
  if (count === 0) return self ? leaf : undefined;
  return paths;
}

function isNullOrEmpty(member: unknown): boolean {
  return member === null || (isJsonObject(member) && isEmptyMap(member));
}

function* pathsInList(
  list: ListShape,
  items: readonly unknown[],
  self: boolean,
): Slices<FieldSet | undefined> {
  if (items.length === 0) return self ? leaf : undefined;
  const paths: Record<PathElement, FieldSet> = self ? { [selfKey]: leaf } : {};
  let count = 0;
  for (const [element, same] of yield* itemsByElementInSlices(list, items)) {
    if (++count % sliceLength === 0) yield;
    const isSingle = same.length === 1;
    paths[element] = (isSingle ? yield* nodeAt(list.element, same[0], true) : undefined) ?? leaf;
  }
  return paths;
}
