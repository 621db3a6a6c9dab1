import { compareUtf8 } from "../text/bytes.ts";
import { sliceLength, type Slices } from "./slices.ts";

/** The sorted items, in slices; equal items keep their order. The argument is not changed. */
export function* sortInSlices<T>(
  items: readonly T[],
  compare: (left: T, right: T) => number,
): Slices<readonly T[]> {
  let runs: (readonly T[])[] = [];
  for (let from = 0; from < items.length; from += sliceLength) {
    runs.push(items.slice(from, from + sliceLength).sort(compare));
    yield;
  }
  while (runs.length > 1) {
    const merged: (readonly T[])[] = [];
    for (let index = 0; index < runs.length; index += 2) {
      const [left = [], right = []] = runs.slice(index, index + 2);
      merged.push(yield* merge(left, right, compare));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

function* merge<T>(
  left: readonly T[],
  right: readonly T[],
  compare: (left: T, right: T) => number,
): Slices<readonly T[]> {
  const [last, first] = [left.at(-1), right[0]];
  if (last === undefined) return right;
  if (first === undefined || compare(last, first) <= 0) return [...left, ...right];
  const merged: T[] = [];
  let [mine, theirs] = [0, 0];
  while (mine < left.length && theirs < right.length) {
    const isLeft = compare(left[mine] as T, right[theirs] as T) <= 0;
    merged.push((isLeft ? left[mine++] : right[theirs++]) as T);
    if (merged.length % sliceLength === 0) yield;
  }
  for (; mine < left.length; mine++) merged.push(left[mine] as T);
  for (; theirs < right.length; theirs++) merged.push(right[theirs] as T);
  return merged;
}

/** As `sortedKeys`, in slices. */
export function* sortedKeysInSlices(values: object): Slices<readonly string[]> {
  const keys = Object.keys(values);
  for (let index = 1; index < keys.length; index++) {
    if (index % sliceLength === 0) yield;
    const isAfter = compareUtf8(keys[index - 1] as string, keys[index] as string) <= 0;
    if (!isAfter) return yield* sortInSlices(keys, compareUtf8);
  }
  return keys;
}
