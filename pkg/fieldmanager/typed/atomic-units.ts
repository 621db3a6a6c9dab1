import type { JsonObject } from "#base";
import { fieldElement, type PathElement } from "../fieldpath/path-element.ts";
import type { ListShape, MapShape, Shape } from "./shape.ts";
import { formOf, isEmptyMap, listIn, mapIn, memberShape, treatedAs } from "./value.ts";
import { pathText } from "../updater.ts";

/**
 * Paths of the lists, maps and structs in a configuration that can only be replaced as a whole:
 * `.spec.selector`. Items of associative lists are named by their places.
 */
export function atomicUnits(shape: Shape, configuration: JsonObject): readonly string[] {
  return unitsIn(shape, configuration, []);
}

function unitsIn(shape: Shape, value: unknown, path: readonly PathElement[]): readonly string[] {
  switch (treatedAs(shape, formOf(shape, value))) {
    case "list": {
      const { relation, element } = shape.list as ListShape;
      if (relation === "atomic") return [pathText(path)];
      const items = listIn(value) ?? [];
      return items.flatMap((item) => unitsIn(element, item, path));
    }
    case "map": {
      const map = shape.map as MapShape;
      const members = mapIn(value) ?? {};
      if (map.atomic && !isEmptyMap(members)) return [pathText(path)];
      return Object.entries(members).flatMap(([name, member]) =>
        unitsIn(memberShape(map, name), member, [...path, fieldElement(name)]),
      );
    }
    default:
      return [];
  }
}
