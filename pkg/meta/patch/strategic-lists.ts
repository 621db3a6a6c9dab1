import { goValue } from "./go-value.ts";
import { isJsonObject, type JsonObject, PatchFault } from "./patch-fault.ts";

/**
 * Order of merged lists: elements of the patch keep the patch's order, those of the server only keep
 * the server's, and between the two kinds the server's order applies where it is known:
 * server a b c, patch b d -> a b d c.
 */

export interface Parts {
  /** Elements that the patch names. */
  readonly named: readonly unknown[];
  /** Elements that only the server knows. */
  readonly others: readonly unknown[];
}

interface Orders {
  readonly order: readonly unknown[];
  readonly live: readonly unknown[];
  readonly mergeKey: string | undefined;
}

export function noMergeKey(element: JsonObject, mergeKey: string): PatchFault {
  return new PatchFault(
    `map: ${goValue(element)} does not contain declared merge key: ${mergeKey}`,
    500,
  );
}

/** Merges lists of scalars without duplicates, in the order of patch and server. */
export function merged(original: readonly unknown[], patch: readonly unknown[]): unknown[] {
  const both = [...new Set([...original, ...patch])];
  const parts = partitioned(both, patch, undefined);
  return ordered(parts, { order: patch, live: original, mergeKey: undefined });
}

/** Partitions a list by whether `by` has an element with the same key. */
export function partitioned(
  list: readonly unknown[],
  by: readonly unknown[],
  mergeKey: string | undefined,
): Parts {
  const keys = new Set(by.map((element) => mergeKeyValue(element, mergeKey)));
  const isNamed = (element: unknown): boolean => keys.has(mergeKeyValue(element, mergeKey));
  return { named: list.filter(isNamed), others: list.filter((element) => !isNamed(element)) };
}

export function ordered(parts: Parts, { order, live, mergeKey }: Orders): unknown[] {
  const liveIndex = indexes(live, mergeKey);
  const named = sorted(parts.named, indexes(order, mergeKey), mergeKey);
  const others = sorted(parts.others, liveIndex, mergeKey);
  const result: unknown[] = [];
  let left = 0;
  let right = 0;
  while (left < others.length && right < named.length) {
    const l = liveIndex.get(mergeKeyValue(others[left], mergeKey));
    const r = liveIndex.get(mergeKeyValue(named[right], mergeKey));
    if (l !== undefined && r !== undefined && l < r) result.push(others[left++]);
    else result.push(named[right++]);
  }
  return [...result, ...others.slice(left), ...named.slice(right)];
}

function sorted(
  list: readonly unknown[],
  order: ReadonlyMap<unknown, number>,
  mergeKey: string | undefined,
): unknown[] {
  const at = (element: unknown): number => order.get(mergeKeyValue(element, mergeKey)) ?? -1;
  return [...list].sort((a, b) => at(a) - at(b));
}

function indexes(
  list: readonly unknown[],
  mergeKey: string | undefined,
): ReadonlyMap<unknown, number> {
  const found = new Map<unknown, number>();
  for (const [index, element] of list.entries()) {
    const key = mergeKeyValue(element, mergeKey);
    if (!found.has(key)) found.set(key, index);
  }
  return found;
}

function mergeKeyValue(element: unknown, mergeKey: string | undefined): unknown {
  return mergeKey !== undefined && isJsonObject(element) ? element[mergeKey] : element;
}
