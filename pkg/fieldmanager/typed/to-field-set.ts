import { isJsonObject, type JsonObject } from "#base";
import { emptySet, type FieldSet, leaf, nodeOf } from "../fieldpath/set.ts";
import { fieldElement, type PathElement } from "../fieldpath/path-element.ts";
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
 * The paths that a configuration sets: its units, the elements of its lists and the keys of its
 * maps, but not the declared fields on the way.
 */
export function toFieldSet(shape: Shape, configuration: JsonObject): FieldSet {
  return nodeAt(shape, configuration, false) ?? emptySet;
}

/** `self`: the path itself is owned, whatever the value. */
function nodeAt(shape: Shape, value: unknown, self: boolean): FieldSet | undefined {
  switch (treatedAs(shape, formOf(shape, value))) {
    case "list": {
      const list = shape.list as ListShape;
      if (list.relation === "atomic") return leaf;
      return nodeOf(self, pathsInList(list, listIn(value) ?? []));
    }
    case "map": {
      const map = shape.map as MapShape;
      if (map.atomic) return leaf;
      return nodeOf(self, pathsInMap(map, mapIn(value)));
    }
    default:
      return leaf;
  }
}

function pathsInMap(map: MapShape, value: JsonObject | undefined): FieldSet | undefined {
  if (value === undefined) return undefined;
  const paths: Record<PathElement, FieldSet> = {};
  for (const name in value) {
    const member = value[name];
    if (member === undefined) continue;
    const isUnit = member === null || (isJsonObject(member) && isEmptyMap(member));
    const self = isUnit || !map.fields.has(name);
    const node = nodeAt(memberShape(map, name), member, self);
    if (node !== undefined) paths[fieldElement(name)] = node;
  }
  return paths;
}

function pathsInList(list: ListShape, items: readonly unknown[]): FieldSet | undefined {
  const paths: Record<PathElement, FieldSet> = {};
  for (const [element, same] of itemsByElement(list, items)) {
    const node = same.length > 1 ? leaf : nodeAt(list.element, same[0], true);
    if (node !== undefined) paths[element] = node;
  }
  return paths;
}
