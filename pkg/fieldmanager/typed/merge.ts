import { assign, atOnce, isJsonObject, type JsonObject, type Slices } from "#base";
import type { PathElement } from "../fieldpath/path-element.ts";
import type { ListShape, MapShape, Shape } from "./shape.ts";
import {
  elementOf,
  formOf,
  isEmptyMap,
  isLarge,
  listIn,
  mapIn,
  memberShape,
  slicedLevels,
  sliceLength,
  treatedAs,
} from "./value.ts";

/**
 * The object with the configuration merged in: units are replaced, maps and associative lists keep
 * what the configuration does not name. Neither is changed; the result shares with both.
 */
export function merge(shape: Shape, live: JsonObject, configuration: JsonObject): JsonObject {
  return (mergeValues(shape, live, configuration) ?? {}) as JsonObject;
}

/** As `merge`, in slices if one of the objects is large. */
export function* mergeInSlices(
  shape: Shape,
  live: JsonObject,
  configuration: JsonObject,
): Slices<JsonObject> {
  if (!isLarge(live) && !isLarge(configuration)) return merge(shape, live, configuration);
  yield;
  return ((yield* mergeLevels(slicedLevels, shape, [live, configuration])) ?? {}) as JsonObject;
}

/** As `mergeValues`, in slices. */
function* mergeLevels(
  levels: number,
  shape: Shape,
  [live, wanted]: readonly [live: unknown, wanted: unknown],
): Slices<unknown> {
  const { map, list } = shape;
  if (levels > 0 && map?.atomic === false && isJsonObject(live) && isJsonObject(wanted)) {
    if (isEmptyMap(live) && isEmptyMap(wanted)) return wanted;
    return yield* mergeMapsInSlices(levels, map, [live, wanted]);
  }
  const isKeyed = list !== undefined && list.relation !== "atomic";
  if (isKeyed && Array.isArray(live) && Array.isArray(wanted) && wanted.length > 0) {
    return yield* mergeLists(list, live, wanted);
  }
  return mergeValues(shape, live, wanted);
}

/** As `mergeMaps`, in slices. */
function* mergeMapsInSlices(
  levels: number,
  map: MapShape,
  [live, wanted]: readonly [live: JsonObject, wanted: JsonObject],
): Slices<JsonObject | undefined> {
  const merged: Record<string, unknown> = { ...live };
  yield;
  let count = 0;
  for (const name of Object.keys(wanted)) {
    if (++count % sliceLength === 0) yield;
    const before = Object.hasOwn(live, name) ? live[name] : undefined;
    const shape = memberShape(map, name);
    const isInner = typeof wanted[name] === "object";
    const value = isInner
      ? yield* mergeLevels(levels - 1, shape, [before, wanted[name]])
      : mergeValues(shape, before, wanted[name]);
    setMember(merged, name, value);
  }
  return isEmptyMap(merged) ? undefined : merged;
}

function setMember(merged: Record<string, unknown>, name: string, value: unknown): void {
  if (value === undefined) delete merged[name];
  else assign(merged, name, value);
}

/** Undefined where nothing is left. */
function mergeValues(shape: Shape, live: unknown, wanted: unknown): unknown {
  if (wanted === undefined) return live;
  if (live === undefined) return wanted;
  switch (treatedAs(shape, formOf(shape, wanted))) {
    case "list": {
      const list = shape.list as ListShape;
      const [left, right] = [listIn(live) ?? [], listIn(wanted) ?? []];
      const isUnit = list.relation === "atomic" || left.length + right.length === 0;
      return isUnit ? wanted : atOnce(mergeLists(list, left, right));
    }
    case "map": {
      const map = shape.map as MapShape;
      const [left, right] = [mapIn(live) ?? {}, mapIn(wanted) ?? {}];
      const isUnit = map.atomic || (isEmptyMap(left) && isEmptyMap(right));
      return isUnit ? wanted : mergeMaps(map, left, right);
    }
    default:
      return wanted;
  }
}

function mergeMaps(map: MapShape, live: JsonObject, wanted: JsonObject): JsonObject | undefined {
  const merged: Record<string, unknown> = { ...live };
  for (const name of Object.keys(wanted)) {
    const before = Object.hasOwn(live, name) ? live[name] : undefined;
    const value = mergeValues(memberShape(map, name), before, wanted[name]);
    setMember(merged, name, value);
  }
  return isEmptyMap(merged) ? undefined : merged;
}

/** Items under their elements; undefined in `byElement` for those that are there several times. */
interface Indexed {
  readonly elements: readonly PathElement[];
  readonly byElement: ReadonlyMap<PathElement, unknown>;
}

function* indexed(list: ListShape, items: readonly unknown[]): Slices<Indexed> {
  const elements: PathElement[] = [];
  const byElement = new Map<PathElement, unknown>();
  for (const item of items) {
    const element = elementOf(list, item);
    // A null takes the place of items that were never told apart.
    byElement.set(element, byElement.has(element) ? null : item);
    if (elements.push(element) % sliceLength === 0) yield;
  }
  return { elements, byElement };
}

/**
 * Elements that only one side knows keep their place relative to those that both know; where both
 * know two, the configuration's order decides: live a b c, wanted c x a gives b c x a.
 */
function* mergeLists(
  list: ListShape,
  liveItems: readonly unknown[],
  wantedItems: readonly unknown[],
): Slices<unknown[] | undefined> {
  const live = yield* indexed(list, liveItems);
  const wanted = yield* indexed(list, wantedItems);
  const shared = wanted.elements.filter((element) => live.byElement.has(element));
  const merged: unknown[] = [];
  const done = new Set<PathElement>();
  const take = (element: PathElement): void => {
    done.add(element);
    const before = live.byElement.get(element);
    const item = mergeValues(list.element, before, wanted.byElement.get(element));
    if (item !== undefined) merged.push(item);
  };
  let next = 0;
  let [left, right] = [0, 0];
  let count = 0;
  while (left < live.elements.length || right < wanted.elements.length) {
    if (++count % sliceLength === 0) yield;
    const [mine, theirs] = [live.elements[left], wanted.elements[right]];
    if (mine !== undefined && theirs !== undefined) {
      if (mine === theirs) {
        take(mine);
        left++;
        right++;
        next++;
        continue;
      }
      const isWaitedFor = next >= shared.length || shared[next] === mine;
      if (wanted.byElement.has(mine) && !isWaitedFor) {
        left++;
        continue;
      }
    }
    if (mine !== undefined) {
      if (!wanted.byElement.has(mine)) {
        merged.push(liveItems[left]);
        left++;
        continue;
      }
      if (done.has(mine)) left++;
    }
    if (theirs !== undefined) {
      take(theirs);
      right++;
      if (shared[next] === theirs) next++;
    }
  }
  return merged.length > 0 ? merged : undefined;
}
