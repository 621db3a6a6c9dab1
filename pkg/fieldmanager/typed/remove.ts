import { assign, type JsonObject, memoize } from "#base";
import { type FieldSet, hasInner, isMember, leaf, nodeOf } from "../fieldpath/set.ts";
import { fieldElement, type PathElement, selfKey } from "../fieldpath/path-element.ts";
import type { ListShape, MapShape, Shape } from "./shape.ts";
import { elementOf, formOf, isEmptyMap, listIn, mapIn, memberShape, treatedAs } from "./value.ts";

/**
 * The object without the values at the members of the set. A map or list that becomes empty is replaced
 * by null.
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
  const remaining: unknown[] = [];
  for (const item of items) {
    const node = set[elementOf(list, item)];
    if (node === undefined) remaining.push(item);
    else if (!isMember(node)) remaining.push(removeFrom(list.element, item, node));
  }
  return remaining.length > 0 ? remaining : null;
}

function removeFromMap(map: MapShape, value: JsonObject | undefined, set: FieldSet): unknown {
  if (value === undefined || isEmptyMap(value) || map.atomic) return null;
  const remaining: Record<string, unknown> = {};
  for (const name of Object.keys(value)) {
    const node = set[fieldElement(name)];
    if (node === undefined) assign(remaining, name, value[name]);
    else if (!isMember(node)) {
      assign(remaining, name, removeFrom(memberShape(map, name), value[name], node));
    }
  }
  return isEmptyMap(remaining) ? null : remaining;
}

/** The set with the declared fields that contain a member added as members (EnsureNamedFieldsAreMembers). */
export function withNamedFields(set: FieldSet, shape: Shape | undefined): FieldSet {
  const draft: Record<PathElement, FieldSet> = {};
  for (const element in set) {
    if (element === selfKey) continue;
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

/** The shapes that sets were found to fit: writes read the same sets from the watch cache repeatedly. */
const fitting = new WeakMap<FieldSet, Shape>();

/**
 * Adapts a set to the current schema: where a list or map has become atomic, members below it are
 * replaced by the path of the atomic value.
 */
export function reconciled(set: FieldSet, shape: Shape): FieldSet {
  if (fitting.get(set) === shape) return set;
  const result = withAtomicLeaves(set, shape);
  fitting.set(result, shape);
  return result;
}

function withAtomicLeaves(set: FieldSet, shape: Shape): FieldSet {
  if (hasOnlyScalars(shape)) return set;
  let draft: Record<PathElement, FieldSet> | undefined;
  for (const element in set) {
    if (element === selfKey) continue;
    const node = set[element] as FieldSet;
    if (!hasInner(node)) continue;
    const below = shapeBelow(shape, element);
    if (below === undefined || isDeduced(below)) continue;
    const isAtomic = below.map === undefined ? below.list?.relation === "atomic" : below.map.atomic;
    const replacement = isAtomic ? leaf : withAtomicLeaves(node, below);
    if (replacement === node) continue;
    draft ??= { ...set };
    draft[element] = replacement;
  }
  return draft ?? set;
}

/** Whether no member of the map or list is a map or list: reading the nodes of large ones takes long. */
const hasOnlyScalars = memoize(({ map, list }: Shape): boolean => {
  const members = [...(map?.fields.values() ?? []), map?.element, list?.element];
  return members.every((member) => member?.map === undefined && member?.list === undefined);
});

/** Whether the shape is `deduced`, which does not say which values are atomic. */
function isDeduced({ map }: Shape): boolean {
  return (
    map !== undefined &&
    map.fields.size === 0 &&
    map.element !== undefined &&
    map.element.scalar === "untyped" &&
    map.element.map !== undefined
  );
}
