import { assign, atOnce, isJsonObject, type JsonObject, sliceLength, type Slices } from "#base";
import type { PathElement } from "../fieldpath/path-element.ts";
import type { ListShape, MapShape, Shape } from "./shape.ts";
import { elementOf, formOf, isEmptyMap, listIn, mapIn, memberShape, treatedAs } from "./value.ts";

/**
 * Merges the configuration into the object: atomic values are replaced, maps and associative lists keep
 * members that the configuration does not contain. The arguments do not change; the result shares parts
 * with both.
 */
export function merge(shape: Shape, live: JsonObject, configuration: JsonObject): JsonObject {
  return (mergeValues(shape, live, configuration) ?? {}) as JsonObject;
}

/** As `merge`, with so many levels in slices; 0 for small objects. */
export function* mergeInSlices(
  shape: Shape,
  [live, configuration]: readonly [live: JsonObject, configuration: JsonObject],
  levels: number,
): Slices<JsonObject> {
  if (levels === 0) return merge(shape, live, configuration);
  return ((yield* mergeLevels(levels, shape, [live, configuration])) ?? {}) as JsonObject;
}

/** As `mergeValues`, in slices. */
function* mergeLevels(
  levels: number,
  shape: Shape,
  [live, applied]: readonly [live: unknown, applied: unknown],
): Slices<unknown> {
  const { map, list } = shape;
  if (levels > 0 && map?.atomic === false && isJsonObject(live) && isJsonObject(applied)) {
    if (isEmptyMap(live) && isEmptyMap(applied)) return applied;
    return yield* mergeMapsInSlices(levels, map, [live, applied]);
  }
  const isKeyed = list !== undefined && list.relation !== "atomic";
  if (isKeyed && Array.isArray(live) && Array.isArray(applied) && applied.length > 0) {
    return yield* mergeLists(list, live, applied);
  }
  return mergeValues(shape, live, applied);
}

/** As `mergeMaps`, in slices. */
function* mergeMapsInSlices(
  levels: number,
  map: MapShape,
  [live, applied]: readonly [live: JsonObject, applied: JsonObject],
): Slices<JsonObject | undefined> {
  const merged: Record<string, unknown> = { ...live };
  yield;
  let count = 0;
  for (const name of Object.keys(applied)) {
    if (++count % sliceLength === 0) yield;
    const before = Object.hasOwn(live, name) ? live[name] : undefined;
    const shape = memberShape(map, name);
    const isInner = typeof applied[name] === "object";
    const value = isInner
      ? yield* mergeLevels(levels - 1, shape, [before, applied[name]])
      : mergeValues(shape, before, applied[name]);
    setMember(merged, name, value);
  }
  return isEmptyMap(merged) ? undefined : merged;
}

function setMember(merged: Record<string, unknown>, name: string, value: unknown): void {
  if (value === undefined) delete merged[name];
  else assign(merged, name, value);
}

/** Undefined for a map or list that becomes empty. */
function mergeValues(shape: Shape, live: unknown, applied: unknown): unknown {
  if (applied === undefined) return live;
  if (live === undefined) return applied;
  switch (treatedAs(shape, formOf(shape, applied))) {
    case "list": {
      const list = shape.list as ListShape;
      const [left, right] = [listIn(live) ?? [], listIn(applied) ?? []];
      const isAtomic = list.relation === "atomic" || left.length + right.length === 0;
      return isAtomic ? applied : atOnce(mergeLists(list, left, right));
    }
    case "map": {
      const map = shape.map as MapShape;
      const [left, right] = [mapIn(live) ?? {}, mapIn(applied) ?? {}];
      const isAtomic = map.atomic || (isEmptyMap(left) && isEmptyMap(right));
      return isAtomic ? applied : mergeMaps(map, left, right);
    }
    default:
      return applied;
  }
}

function mergeMaps(map: MapShape, live: JsonObject, applied: JsonObject): JsonObject | undefined {
  const merged: Record<string, unknown> = { ...live };
  for (const name of Object.keys(applied)) {
    const before = Object.hasOwn(live, name) ? live[name] : undefined;
    const value = mergeValues(memberShape(map, name), before, applied[name]);
    setMember(merged, name, value);
  }
  return isEmptyMap(merged) ? undefined : merged;
}

/** The items of a list by path element. */
interface IndexedItems {
  readonly elements: readonly PathElement[];
  readonly byElement: ReadonlyMap<PathElement, unknown>;
}

function* indexItems(list: ListShape, items: readonly unknown[]): Slices<IndexedItems> {
  const elements: PathElement[] = [];
  const byElement = new Map<PathElement, unknown>();
  for (const item of items) {
    const element = elementOf(list, item);
    // Items with duplicate keys cannot be merged: null stands for them.
    byElement.set(element, byElement.has(element) ? null : item);
    if (elements.push(element) % sliceLength === 0) yield;
  }
  return { elements, byElement };
}

/**
 * Merges two associative lists. Elements of one list keep their position relative to the shared ones,
 * which take the order of the configuration: live a b c, applied c x a gives b c x a.
 */
function* mergeLists(
  list: ListShape,
  liveItems: readonly unknown[],
  appliedItems: readonly unknown[],
): Slices<unknown[] | undefined> {
  const live = yield* indexItems(list, liveItems);
  const applied = yield* indexItems(list, appliedItems);
  const shared = applied.elements.filter((element) => live.byElement.has(element));
  const merged: unknown[] = [];
  const mergedElements = new Set<PathElement>();
  const mergeElement = (element: PathElement): void => {
    mergedElements.add(element);
    const before = live.byElement.get(element);
    const item = mergeValues(list.element, before, applied.byElement.get(element));
    if (item !== undefined) merged.push(item);
  };
  let nextShared = 0;
  let [left, right] = [0, 0];
  let count = 0;
  while (left < live.elements.length || right < applied.elements.length) {
    if (++count % sliceLength === 0) yield;
    const [mine, theirs] = [live.elements[left], applied.elements[right]];
    if (mine !== undefined && theirs !== undefined) {
      if (mine === theirs) {
        mergeElement(mine);
        left++;
        right++;
        nextShared++;
        continue;
      }
      const isNextShared = nextShared >= shared.length || shared[nextShared] === mine;
      if (applied.byElement.has(mine) && !isNextShared) {
        left++;
        continue;
      }
    }
    if (mine !== undefined) {
      if (!applied.byElement.has(mine)) {
        merged.push(liveItems[left]);
        left++;
        continue;
      }
      if (mergedElements.has(mine)) left++;
    }
    if (theirs !== undefined) {
      mergeElement(theirs);
      right++;
      if (shared[nextShared] === theirs) nextShared++;
    }
  }
  return merged.length > 0 ? merged : undefined;
}
