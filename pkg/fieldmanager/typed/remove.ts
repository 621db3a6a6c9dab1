import { assign, type JsonObject } from "#base";
import { type FieldSet, hasInner, isMember, nodeOf } from "../fieldpath/set.ts";
import { fieldElement, type PathElement, SELF } from "../fieldpath/path-element.ts";
import type { ListShape, MapShape, Shape } from "./shape.ts";
import { elementOf, formOf, isEmptyMap, listIn, mapIn, memberShape, treatedAs } from "./value.ts";

/**
 * The object without the members of the set and what lies below them. A map or list that loses
 * everything becomes null.
 */
export function removeFields(shape: Shape, object: JsonObject, set: FieldSet): JsonObject {
  return (removeFrom(shape, object, set) ?? {}) as JsonObject;
}

function removeFrom(shape: Shape, value: unknown, set: FieldSet): unknown {
  switch (treatedAs(shape, formOf(shape, value))) {
    case "list":
      return removeFromList(shape.list as ListShape, listIn(value), set);
    case "map":
      return removeFromMap(shape.map as MapShape, mapIn(value), set);
    default:
      return value;
  }
}

function removeFromList(
  list: ListShape,
  items: readonly unknown[] | undefined,
  set: FieldSet,
): unknown {
  if (items === undefined || items.length === 0 || list.relation === "atomic") return null;
  const kept: unknown[] = [];
  for (const item of items) {
    const node = set[elementOf(list, item)];
    if (node === undefined) kept.push(item);
    else if (!isMember(node)) kept.push(removeFrom(list.element, item, node));
  }
  return kept.length > 0 ? kept : null;
}

function removeFromMap(map: MapShape, value: JsonObject | undefined, set: FieldSet): unknown {
  if (value === undefined || isEmptyMap(value) || map.atomic) return null;
  const kept: Record<string, unknown> = {};
  for (const name of Object.keys(value)) {
    const node = set[fieldElement(name)];
    if (node === undefined) assign(kept, name, value[name]);
    else if (!isMember(node)) {
      assign(kept, name, removeFrom(memberShape(map, name), value[name], node));
    }
  }
  return isEmptyMap(kept) ? null : kept;
}

/** The set with every declared field on the way to a member as a member, too. */
export function withNamedFields(set: FieldSet, shape: Shape | undefined): FieldSet {
  const draft: Record<PathElement, FieldSet> = {};
  for (const element in set) {
    if (element === SELF) continue;
    const node = set[element] as FieldSet;
    const isNamed = element.startsWith("f:") && shape?.map?.fields.has(element.slice(2)) === true;
    const self = isMember(node) || isNamed;
    const below = hasInner(node) ? withNamedFields(node, shapeBelow(shape, element)) : undefined;
    draft[element] = nodeOf(self, below) as FieldSet;
  }
  return draft;
}

function shapeBelow(shape: Shape | undefined, element: PathElement): Shape | undefined {
  if (element.startsWith("f:")) {
    const { fields, element: other } = shape?.map ?? {};
    return fields?.get(element.slice(2)) ?? other;
  }
  return element.startsWith("k:") ? shape?.list?.element : undefined;
}

/**
 * The set as the schema of today would have it: where a value is one unit, the owners of parts of
 * it owns the unit.
 */
export function reconciled(set: FieldSet, shape: Shape): FieldSet {
  let draft: Record<PathElement, FieldSet> | undefined;
  for (const element in set) {
    if (element === SELF) continue;
    const node = set[element] as FieldSet;
    if (!hasInner(node)) continue;
    const below = shapeBelow(shape, element);
    if (below === undefined || isDeduced(below)) continue;
    const unit = below.map === undefined ? below.list?.relation === "atomic" : below.map.atomic;
    const rest = unit ? nodeOf(true, undefined) : reconciled(node, below);
    if (rest === node || rest === undefined) continue;
    draft ??= { ...set };
    draft[element] = rest;
  }
  return draft ?? set;
}

/** A schema that leaves everything open says nothing about units. */
function isDeduced({ map }: Shape): boolean {
  return (
    map !== undefined &&
    map.fields.size === 0 &&
    map.element !== undefined &&
    map.element.scalar === "untyped" &&
    map.element.map !== undefined
  );
}
