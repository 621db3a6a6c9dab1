import { deepEqual, isJsonObject, type JsonObject } from "#base";
import { emptySet, type FieldSet, leaf, unionOfNodes } from "../fieldpath/set.ts";
import { fieldElement, type PathElement, SELF } from "../fieldpath/path-element.ts";
import type { ListShape, MapShape, Shape } from "./shape.ts";
import {
  type Form,
  formOf,
  isEmptyMap,
  itemsByElement,
  listIn,
  mapIn,
  memberShape,
  treatedAs,
} from "./value.ts";

/** The paths by which two objects differ. */
export interface Comparison {
  /** Also of what lies above, down to the first path that was not there before. */
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

/** The difference at one path and below; the nodes say whether the path itself is among them. */
interface Change {
  added?: FieldSet | undefined;
  modified?: FieldSet | undefined;
  removed?: FieldSet | undefined;
}

/** Compares two objects of one kind and version. */
export function compare(shape: Shape, before: JsonObject, after: JsonObject): Comparison {
  const change = compareValues(shape, before, after);
  const { added = emptySet, modified = emptySet, removed = emptySet } = change ?? {};
  return { added, modified, removed };
}

/** Undefined where nothing differs. At least one of the values is there. */
function compareValues(shape: Shape, before: unknown, after: unknown): Change | undefined {
  if (before === undefined) return { added: everyPath(shape, after) };
  if (after === undefined) return { removed: everyPath(shape, before) };
  if (before === after) return undefined;
  const [left, right] = [formOf(shape, before), formOf(shape, after)];
  const change = compareAs(right, shape, [before, after]);
  if (left === right) return change;
  return bothOf(compareAs(left, shape, [before, after]), change);
}

type Pair = readonly [before: unknown, after: unknown];

function compareAs(form: Form, shape: Shape, [before, after]: Pair): Change | undefined {
  switch (treatedAs(shape, form)) {
    case "list": {
      const list = shape.list as ListShape;
      const [left, right] = [listIn(before) ?? [], listIn(after) ?? []];
      const isUnit = list.relation === "atomic" || left.length + right.length === 0;
      return isUnit ? compareUnits(before, after) : compareLists(list, left, right);
    }
    case "map": {
      const map = shape.map as MapShape;
      // Two empty maps have no members that differ either: whether a large one is empty takes long to see.
      if (!map.atomic && isJsonObject(before) && isJsonObject(after)) {
        return compareMaps(map, before, after);
      }
      const [left, right] = [mapIn(before) ?? {}, mapIn(after) ?? {}];
      const isUnit = map.atomic || (isEmptyMap(left) && isEmptyMap(right));
      return isUnit ? compareUnits(before, after) : compareMaps(map, left, right);
    }
    default:
      return compareUnits(before, after);
  }
}

function compareUnits(before: unknown, after: unknown): Change | undefined {
  return deepEqual(before, after) ? undefined : { modified: leaf };
}

function bothOf(left: Change | undefined, right: Change | undefined): Change | undefined {
  if (left === undefined || right === undefined) return left ?? right;
  return {
    added: eitherNode(left.added, right.added),
    modified: eitherNode(left.modified, right.modified),
    removed: eitherNode(left.removed, right.removed),
  };
}

function eitherNode(left: FieldSet | undefined, right: FieldSet | undefined): FieldSet | undefined {
  return left === undefined || right === undefined ? (left ?? right) : unionOfNodes(left, right);
}

/** The change of a list or map is made of those of its members. */
class Changes {
  private change: Record<keyof Change, Record<PathElement, FieldSet> | undefined> | undefined;

  add(element: PathElement, change: Change | undefined): void {
    if (change === undefined) return;
    this.change ??= { added: undefined, modified: undefined, removed: undefined };
    for (const how of ["added", "modified", "removed"] as const) {
      const node = change[how];
      if (node !== undefined) (this.change[how] ??= {})[element] = node;
    }
  }
  done(): Change | undefined {
    return this.change;
  }
}

function compareMaps(map: MapShape, before: JsonObject, after: JsonObject): Change | undefined {
  const changes = new Changes();
  for (const name in before) {
    const [left, right] = [before[name], Object.hasOwn(after, name) ? after[name] : undefined];
    if (left === undefined || left === right) continue;
    changes.add(fieldElement(name), compareValues(memberShape(map, name), left, right));
  }
  for (const name in after) {
    if (after[name] === undefined || (Object.hasOwn(before, name) && before[name] !== undefined)) {
      continue;
    }
    changes.add(fieldElement(name), compareValues(memberShape(map, name), undefined, after[name]));
  }
  return changes.done();
}

function compareLists(
  list: ListShape,
  before: readonly unknown[],
  after: readonly unknown[],
): Change | undefined {
  if (deepEqual(before, after)) return undefined;
  const changes = new Changes();
  const left = itemsByElement(list, before);
  const right = itemsByElement(list, after);
  for (const [element, items] of left) {
    changes.add(element, compareItems(list.element, items, right.get(element) ?? []));
  }
  for (const [element, items] of right) {
    if (!left.has(element)) changes.add(element, compareItems(list.element, [], items));
  }
  return changes.done();
}

/** Items that share their keys count as one unit. */
function compareItems(
  shape: Shape,
  before: readonly unknown[],
  after: readonly unknown[],
): Change | undefined {
  if (before.length > 1 && after.length > 1) return compareUnits(before, after);
  if (before.length > 1) {
    const [item] = after;
    return { removed: leaf, ...(item === undefined ? {} : { added: everyPath(shape, item) }) };
  }
  if (after.length > 1) {
    const [item] = before;
    return { added: leaf, ...(item === undefined ? {} : { removed: everyPath(shape, item) }) };
  }
  return compareValues(shape, before[0], after[0]);
}

/** The path of a value that was not there before (or is no more), and all paths below. */
function everyPath(shape: Shape, value: unknown): FieldSet {
  switch (treatedAs(shape, formOf(shape, value))) {
    case "list":
      return withPathsInList(shape.list as ListShape, listIn(value) ?? []);
    case "map":
      return withPathsInMap(shape.map as MapShape, mapIn(value));
    default:
      return leaf;
  }
}

/** A member, and what lies below it; made in one go, since copies of large sets take long. */
function withPathsInMap(map: MapShape, value: JsonObject | undefined): FieldSet {
  if (map.atomic || value === undefined) return leaf;
  const paths: Record<PathElement, FieldSet> = { [SELF]: leaf };
  let isLeaf = true;
  for (const name in value) {
    const member = value[name];
    if (member === undefined) continue;
    paths[fieldElement(name)] = everyPath(memberShape(map, name), member);
    isLeaf = false;
  }
  return isLeaf ? leaf : paths;
}

function withPathsInList(list: ListShape, items: readonly unknown[]): FieldSet {
  if (list.relation === "atomic" || items.length === 0) return leaf;
  const paths: Record<PathElement, FieldSet> = { [SELF]: leaf };
  for (const [element, same] of itemsByElement(list, items)) {
    paths[element] = same.length > 1 ? leaf : everyPath(list.element, same[0]);
  }
  return paths;
}
