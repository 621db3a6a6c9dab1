import { atOnce, deepEqual, isJsonObject, type JsonObject, sliceLength, type Slices } from "#base";
import { emptySet, type FieldSet, leaf, unionOfNodes } from "../fieldpath/set.ts";
import { fieldElement, type PathElement, selfKey } from "../fieldpath/path-element.ts";
import type { ListShape, MapShape, Shape } from "./shape.ts";
import {
  type Form,
  formOf,
  isEmptyMap,
  itemsByElementInSlices,
  listIn,
  mapIn,
  memberShape,
  treatedAs,
} from "./value.ts";

/** The paths in which two objects differ. */
export interface Comparison {
  /** With the new maps and lists that contain them. */
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

/** The difference of the values at a path; the path itself is among them if its node is a member. */
interface Change {
  added?: FieldSet | undefined;
  modified?: FieldSet | undefined;
  removed?: FieldSet | undefined;
}

/** Compares two objects of one kind and version. */
export function compare(shape: Shape, before: JsonObject, after: JsonObject): Comparison {
  return comparisonOf(compareValues(shape, before, after));
}

/**
 * As `compare`, with so many levels in slices; 0 for small objects, for which generators would take twice
 * the time.
 */
export function* compareInSlices(
  shape: Shape,
  [before, after]: readonly [before: JsonObject, after: JsonObject],
  levels: number,
): Slices<Comparison> {
  if (levels === 0) return compare(shape, before, after);
  return comparisonOf(yield* compareLevels(levels, shape, [before, after]));
}

function comparisonOf(change: Change | undefined): Comparison {
  const { added = emptySet, modified = emptySet, removed = emptySet } = change ?? {};
  return { added, modified, removed };
}

/** As `compareValues`, in slices. */
function* compareLevels(levels: number, shape: Shape, pair: Pair): Slices<Change | undefined> {
  const [before, after] = pair;
  if (before === undefined) return { added: yield* everyPathInSlices(shape, after) };
  if (after === undefined) return { removed: yield* everyPathInSlices(shape, before) };
  if (before === after) return undefined;
  const { map, list } = shape;
  if (map?.atomic === false && isJsonObject(before) && isJsonObject(after)) {
    return yield* compareMapsInSlices(levels, map, [before, after]);
  }
  if (list !== undefined && list.relation !== "atomic") {
    const [left, right] = [listIn(before), listIn(after)];
    if (left !== undefined && right !== undefined) return yield* compareLists(list, left, right);
  }
  return compareValues(shape, before, after);
}

/** As `compareMaps`, in slices. */
function* compareMapsInSlices(
  levels: number,
  map: MapShape,
  [before, after]: readonly [before: JsonObject, after: JsonObject],
): Slices<Change | undefined> {
  const changes = new ChangeCollector();
  let count = 0;
  for (const side of [before, after]) {
    for (const name in side) {
      if (++count % sliceLength === 0) yield;
      const [left, right] = [memberOf(before, name), memberOf(after, name)];
      // Members that exist in `before` are compared in its pass.
      const isAdded = left === undefined;
      if (left === right || isAdded !== (side === after)) continue;
      const shape = memberShape(map, name);
      const change =
        levels > 1 && typeof (left ?? right) === "object"
          ? yield* compareLevels(levels - 1, shape, [left, right])
          : compareValues(shape, left, right);
      changes.add(fieldElement(name), change);
    }
    if (count >= sliceLength) yield;
  }
  return changes.result();
}

function memberOf(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** Undefined if the values are equal. At most one of them is undefined. */
function compareValues(shape: Shape, before: unknown, after: unknown): Change | undefined {
  if (before === undefined) return { added: everyPath(shape, after) };
  if (after === undefined) return { removed: everyPath(shape, before) };
  if (before === after) return undefined;
  const [left, right] = [formOf(shape, before), formOf(shape, after)];
  const change = compareAs(right, shape, [before, after]);
  if (left === right) return change;
  return unionOfChanges(compareAs(left, shape, [before, after]), change);
}

type Pair = readonly [before: unknown, after: unknown];

function compareAs(form: Form, shape: Shape, [before, after]: Pair): Change | undefined {
  switch (treatedAs(shape, form)) {
    case "list": {
      const list = shape.list as ListShape;
      const [left, right] = [listIn(before) ?? [], listIn(after) ?? []];
      const isAtomic = list.relation === "atomic" || left.length + right.length === 0;
      return isAtomic ? compareAtomic(before, after) : atOnce(compareLists(list, left, right));
    }
    case "map": {
      const map = shape.map as MapShape;
      // Before the check for empty maps, which takes long for large ones and does not change the result.
      if (!map.atomic && isJsonObject(before) && isJsonObject(after)) {
        return compareMaps(map, before, after);
      }
      const [left, right] = [mapIn(before) ?? {}, mapIn(after) ?? {}];
      const isAtomic = map.atomic || (isEmptyMap(left) && isEmptyMap(right));
      return isAtomic ? compareAtomic(before, after) : compareMaps(map, left, right);
    }
    default:
      return compareAtomic(before, after);
  }
}

function compareAtomic(before: unknown, after: unknown): Change | undefined {
  return deepEqual(before, after) ? undefined : { modified: leaf };
}

function unionOfChanges(left: Change | undefined, right: Change | undefined): Change | undefined {
  if (left === undefined || right === undefined) return left ?? right;
  return {
    added: unionOfOptional(left.added, right.added),
    modified: unionOfOptional(left.modified, right.modified),
    removed: unionOfOptional(left.removed, right.removed),
  };
}

function unionOfOptional(
  left: FieldSet | undefined,
  right: FieldSet | undefined,
): FieldSet | undefined {
  return left === undefined || right === undefined ? (left ?? right) : unionOfNodes(left, right);
}

/** Collects the changes of the members of a list or map. */
class ChangeCollector {
  private change: Record<keyof Change, Record<PathElement, FieldSet> | undefined> | undefined;

  add(element: PathElement, change: Change | undefined): void {
    if (change === undefined) return;
    this.change ??= { added: undefined, modified: undefined, removed: undefined };
    for (const type of ["added", "modified", "removed"] as const) {
      const node = change[type];
      if (node !== undefined) (this.change[type] ??= {})[element] = node;
    }
  }
  result(): Change | undefined {
    return this.change;
  }
}

function compareMaps(map: MapShape, before: JsonObject, after: JsonObject): Change | undefined {
  const changes = new ChangeCollector();
  for (const name in before) {
    const [left, right] = [before[name], memberOf(after, name)];
    if (left === undefined || left === right) continue;
    changes.add(fieldElement(name), compareValues(memberShape(map, name), left, right));
  }
  for (const name in after) {
    if (after[name] === undefined || memberOf(before, name) !== undefined) continue;
    changes.add(fieldElement(name), compareValues(memberShape(map, name), undefined, after[name]));
  }
  return changes.result();
}

function* compareLists(
  list: ListShape,
  before: readonly unknown[],
  after: readonly unknown[],
): Slices<Change | undefined> {
  if (deepEqual(before, after)) return undefined;
  const changes = new ChangeCollector();
  const left = yield* itemsByElementInSlices(list, before);
  const right = yield* itemsByElementInSlices(list, after);
  let count = 0;
  for (const [element, items] of left) {
    if (++count % sliceLength === 0) yield;
    changes.add(element, compareItems(list.element, items, right.get(element) ?? []));
  }
  for (const [element, items] of right) {
    if (++count % sliceLength === 0) yield;
    if (!left.has(element)) changes.add(element, compareItems(list.element, [], items));
  }
  return changes.result();
}

/** Compares the items of one element. Items with duplicate keys are compared as a whole. */
function compareItems(
  shape: Shape,
  before: readonly unknown[],
  after: readonly unknown[],
): Change | undefined {
  if (before.length > 1 && after.length > 1) return compareAtomic(before, after);
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

/** The path of an added or removed value and all paths below it. */
function everyPath(shape: Shape, value: unknown): FieldSet {
  return typeof value === "object" ? atOnce(everyPathInSlices(shape, value)) : leaf;
}

/** As `everyPath`, in slices. */
function* everyPathInSlices(shape: Shape, value: unknown): Slices<FieldSet> {
  switch (treatedAs(shape, formOf(shape, value))) {
    case "list":
      return yield* withPathsInList(shape.list as ListShape, listIn(value) ?? []);
    case "map":
      return yield* withPathsInMap(shape.map as MapShape, mapIn(value));
    default:
      return leaf;
  }
}

/** Builds the member and its inner nodes in one object, since copying large sets takes long. */
function* withPathsInMap(map: MapShape, value: JsonObject | undefined): Slices<FieldSet> {
  if (map.atomic || value === undefined) return leaf;
  const paths: Record<PathElement, FieldSet> = { [selfKey]: leaf };
  let count = 0;
  for (const name in value) {
    const member = value[name];
    if (member === undefined) continue;
    if (++count % sliceLength === 0) yield;
    const isScalar = typeof member !== "object";
    const node = isScalar ? leaf : yield* everyPathInSlices(memberShape(map, name), member);
    paths[fieldElement(name)] = node;
  }
  return count === 0 ? leaf : paths;
}

function* withPathsInList(list: ListShape, items: readonly unknown[]): Slices<FieldSet> {
  if (list.relation === "atomic" || items.length === 0) return leaf;
  const paths: Record<PathElement, FieldSet> = { [selfKey]: leaf };
  let count = 0;
  for (const [element, same] of yield* itemsByElementInSlices(list, items)) {
    if (++count % sliceLength === 0) yield;
    paths[element] = same.length > 1 ? leaf : everyPath(list.element, same[0]);
  }
  return paths;
}
