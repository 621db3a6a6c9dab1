import { assign, type JsonObject } from "#base";
import type { PathElement } from "../fieldpath/path-element.ts";
import type { ListShape, MapShape, Shape } from "./shape.ts";
import { elementOf, formOf, isEmptyMap, listIn, mapIn, memberShape, treatedAs } from "./value.ts";

/**
 * The object with the configuration merged in: units are replaced, maps and associative lists keep
 * what the configuration does not name. Neither is changed; the result shares with both.
 */
export function merge(shape: Shape, live: JsonObject, configuration: JsonObject): JsonObject {
  return (mergeValues(shape, live, configuration) ?? {}) as JsonObject;
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
      return isUnit ? wanted : mergeLists(list, left, right);
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
    if (value === undefined) delete merged[name];
    else assign(merged, name, value);
  }
  return isEmptyMap(merged) ? undefined : merged;
}

/** Items under their elements; undefined in `byElement` for those that are there several times. */
interface Indexed {
  readonly elements: readonly PathElement[];
  readonly byElement: ReadonlyMap<PathElement, unknown>;
}

function indexed(list: ListShape, items: readonly unknown[]): Indexed {
  const elements = items.map((item) => elementOf(list, item));
  const byElement = new Map<PathElement, unknown>();
  for (const [index, element] of elements.entries()) {
    // A null takes the place of items that were never told apart.
    byElement.set(element, byElement.has(element) ? null : items[index]);
  }
  return { elements, byElement };
}

/**
 * Elements that only one side knows keep their place relative to those that both know; where both
 * know two, the configuration's order decides: live a b c, wanted c x a gives b c x a.
 */
function mergeLists(
  list: ListShape,
  liveItems: readonly unknown[],
  wantedItems: readonly unknown[],
): unknown[] | undefined {
  const live = indexed(list, liveItems);
  const wanted = indexed(list, wantedItems);
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
  while (left < live.elements.length || right < wanted.elements.length) {
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
