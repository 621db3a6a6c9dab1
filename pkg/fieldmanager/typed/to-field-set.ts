import { isJsonObject, type JsonObject } from "#base";
import { emptySet, type FieldSet, leaf } from "../fieldpath/set.ts";
import { fieldElement, type PathElement, selfKey } from "../fieldpath/path-element.ts";
import type { ListShape, MapShape, Shape } from "./shape.ts";
import {
  formOf,
  isEmptyMap,
  itemsByElement,
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

function pathsInMap(map: MapShape, value: JsonObject, self: boolean): FieldSet | undefined {
  const paths: Record<PathElement, FieldSet> = self ? { [selfKey]: leaf } : {};
  let isLeaf = true;
  for (const name in value) {
    const member = value[name];
    if (member === undefined) continue;
    const isEmpty = member === null || (isJsonObject(member) && isEmptyMap(member));
    const node = nodeAt(memberShape(map, name), member, isEmpty || !map.fields.has(name));
    if (node === undefined) continue;
    paths[fieldElement(name)] = node;
    isLeaf = false;
  }
  if (isLeaf) return self ? leaf : undefined;
  return paths;
}

function pathsInList(
  list: ListShape,
  items: readonly unknown[],
  self: boolean,
): FieldSet | undefined {
  if (items.length === 0) return self ? leaf : undefined;
  const paths: Record<PathElement, FieldSet> = self ? { [selfKey]: leaf } : {};
  for (const [element, same] of itemsByElement(list, items)) {
    paths[element] = same.length > 1 ? leaf : (nodeAt(list.element, same[0], true) ?? leaf);
  }
  return paths;
}
