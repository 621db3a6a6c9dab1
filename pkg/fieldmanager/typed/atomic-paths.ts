import type { JsonObject } from "#base";
import { fieldElement, type PathElement } from "../fieldpath/path-element.ts";
import type { ListShape, MapShape, Shape } from "./shape.ts";
import { formOf, isEmptyMap, listIn, mapIn, memberShape, treatedAs } from "./value.ts";
import { pathText } from "../updater.ts";

/**
 * The paths of the atomic lists, maps and structs in a configuration, such as `.spec.selector`. Paths
 * through an associative list do not contain its items.
 */
export function atomicPaths(shape: Shape, configuration: JsonObject): readonly string[] {
  return atomicPathsIn(shape, configuration, []);
}

function atomicPathsIn(
  shape: Shape,
  value: unknown,
  path: readonly PathElement[],
): readonly string[] {
  switch (treatedAs(shape, formOf(shape, value))) {
    case "list": {
      const { relation, element } = shape.list as ListShape;
      if (relation === "atomic") return [pathText(path)];
      const items = listIn(value) ?? [];
      return items.flatMap((item) => atomicPathsIn(element, item, path));
    }
    case "map": {
      const map = shape.map as MapShape;
      const members = mapIn(value) ?? {};
      if (map.atomic && !isEmptyMap(members)) return [pathText(path)];
      return Object.entries(members).flatMap(([name, member]) =>
        atomicPathsIn(memberShape(map, name), member, [...path, fieldElement(name)]),
      );
    }
    default:
      return [];
  }
}
