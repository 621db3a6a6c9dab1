import type { JsonObject } from "#base";
import { fieldElement, type PathElement } from "../fieldpath/path-element.ts";
import type { ListShape, MapShape, Shape } from "./shape.ts";
import { formOf, listIn, mapIn } from "./value.ts";
import { pathText } from "../updater.ts";

/**
 * The paths of the atomic lists, maps and structs in a configuration, and of those inside them:
 * `.spec.selector`, `.spec.containers[0].args`. Items of all lists are named by index.
 */
export function atomicPaths(shape: Shape, configuration: JsonObject): readonly string[] {
  return atomicPathsIn(shape, configuration, []);
}

function atomicPathsIn(
  shape: Shape,
  value: unknown,
  path: readonly PathElement[],
): readonly string[] {
  const own = [pathText(path)];
  switch (formOf(shape, value)) {
    case "list": {
      const { relation, element } = shape.list as ListShape;
      const items = (listIn(value) ?? []).flatMap((item, index) =>
        atomicPathsIn(element, item, [...path, `i:${index}`]),
      );
      return relation === "atomic" && listIn(value) !== undefined ? [...own, ...items] : items;
    }
    case "map": {
      const map = shape.map as MapShape;
      const members = Object.entries(mapIn(value) ?? {}).flatMap(([name, member]) => {
        const known = map.fields.get(name);
        return known === undefined
          ? []
          : atomicPathsIn(known, member, [...path, fieldElement(name)]);
      });
      return map.atomic && mapIn(value) !== undefined ? [...own, ...members] : members;
    }
    default:
      return [];
  }
}
