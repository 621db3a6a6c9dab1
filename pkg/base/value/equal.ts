import { slicedLevels, sliceLength, type Slices } from "../async/slices.ts";
import { OpaqueJson } from "../text/json-text.ts";

/**
 * Equality of JSON-shaped values: numbers, bigints, strings, booleans, null, arrays and plain
 * objects. Key order does not matter, and a key whose value is undefined counts as absent.
 */
export function deepEqual(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) {
    return typeof left === "number" && Number.isNaN(left) && Number.isNaN(right);
  }
  if (left instanceof OpaqueJson || right instanceof OpaqueJson) {
    return deepEqual(OpaqueJson.valueOf(left), OpaqueJson.valueOf(right));
  }
  if (Array.isArray(left)) return Array.isArray(right) && equalLists(left, right);
  return !Array.isArray(right) && equalObjects(left as Shape, right as Shape);
}

type Shape = Readonly<Record<string, unknown>>;

/** As `deepEqual`, in slices. */
export function* deepEqualInSlices(
  left: unknown,
  right: unknown,
  levels = slicedLevels,
): Slices<boolean> {
  const isSliced = levels > 0 && isTree(left) && isTree(right);
  if (left === right || !isSliced) return deepEqual(left, right);
  if (Array.isArray(left) || Array.isArray(right)) {
    if (!Array.isArray(left) || !Array.isArray(right) || left.length !== right.length) return false;
    for (let index = 0; index < left.length; index++) {
      if (index % sliceLength === 0) yield;
      if (left[index] === right[index]) continue;
      const isEqual =
        levels > 1
          ? yield* deepEqualInSlices(left[index], right[index], levels - 1)
          : deepEqual(left[index], right[index]);
      if (!isEqual) return false;
    }
    return true;
  }
  return yield* equalObjectsInSlices(left as Shape, right as Shape, levels);
}

function* equalObjectsInSlices(left: Shape, right: Shape, levels: number): Slices<boolean> {
  const mine = Object.keys(left);
  yield;
  const theirs = Object.keys(right);
  let present = 0;
  for (const [index, key] of mine.entries()) {
    if (index % sliceLength === 0) yield;
    const value = left[key];
    if (value === undefined) continue;
    present++;
    if (!Object.hasOwn(right, key)) return false;
    if (value === right[key]) continue;
    const isEqual =
      levels > 1
        ? yield* deepEqualInSlices(value, right[key], levels - 1)
        : deepEqual(value, right[key]);
    if (!isEqual) return false;
  }
  for (const [index, key] of theirs.entries()) {
    if (index % sliceLength === 0) yield;
    if (right[key] !== undefined) present--;
  }
  return present === 0;
}

function isTree(value: unknown): value is object {
  return typeof value === "object" && value !== null && !(value instanceof OpaqueJson);
}

function equalLists(left: readonly unknown[], right: readonly unknown[]): boolean {
  if (left.length !== right.length) return false;
  for (let index = 0; index < left.length; index++) {
    if (!deepEqual(left[index], right[index])) return false;
  }
  return true;
}

function equalObjects(left: Shape, right: Shape): boolean {
  let present = 0;
  for (const key of Object.keys(left)) {
    const value = left[key];
    if (value === undefined) continue;
    present++;
    if (!Object.hasOwn(right, key) || !deepEqual(value, right[key])) return false;
  }
  for (const key of Object.keys(right)) {
    if (right[key] !== undefined) present--;
  }
  return present === 0;
}

/**
 * True if two JSON-shaped values differ in a scalar other than the zero values, or in the length of
 * a list: then they differ whichever of empty, null, zero and absent parts are equivalent. False
 * does not mean that they are equal.
 */
export function certainlyDiffer(left: unknown, right: unknown): boolean {
  if (left === right) return false;
  if (isZero(left)) return isScalar(right) && !isZero(right);
  if (isZero(right)) return isScalar(left);
  if (isScalar(left) || isScalar(right)) return typeof left === typeof right;
  if (left instanceof OpaqueJson || right instanceof OpaqueJson) return false;
  if (Array.isArray(left) || Array.isArray(right)) {
    return Array.isArray(left) && Array.isArray(right) && listsCertainlyDiffer(left, right);
  }
  return objectsCertainlyDiffer(left as Shape, right as Shape);
}

/** As `certainlyDiffer`, in slices. */
export function* certainlyDifferInSlices(
  left: unknown,
  right: unknown,
  levels = slicedLevels,
): Slices<boolean> {
  if (left === right) return false;
  const isSliced = levels > 0 && isTree(left) && isTree(right);
  if (!isSliced || Array.isArray(left) || Array.isArray(right)) return certainlyDiffer(left, right);
  const [mine, theirs] = [left as Shape, right as Shape];
  const keys = new Set(Object.keys(mine));
  yield;
  for (const key of Object.keys(theirs)) keys.add(key);
  let count = 0;
  for (const key of keys) {
    if (count++ % sliceLength === 0) yield;
    const value = Object.hasOwn(mine, key) ? mine[key] : undefined;
    const other = Object.hasOwn(theirs, key) ? theirs[key] : undefined;
    const differ =
      typeof value === "object"
        ? yield* certainlyDifferInSlices(value, other, levels - 1)
        : certainlyDiffer(value, other);
    if (differ) return true;
  }
  return false;
}

function listsCertainlyDiffer(left: readonly unknown[], right: readonly unknown[]): boolean {
  if (left.length !== right.length) return left.length > 0 && right.length > 0;
  return left.some((value, index) => certainlyDiffer(value, right[index]));
}

function objectsCertainlyDiffer(left: Shape, right: Shape): boolean {
  for (const key of Object.keys(left)) {
    const other = Object.hasOwn(right, key) ? right[key] : undefined;
    if (certainlyDiffer(left[key], other)) return true;
  }
  for (const key of Object.keys(right)) {
    if (!Object.hasOwn(left, key) && certainlyDiffer(undefined, right[key])) return true;
  }
  return false;
}

function isScalar(value: unknown): boolean {
  return typeof value !== "object" && value !== undefined;
}

function isZero(value: unknown): boolean {
  return (
    value === undefined ||
    value === null ||
    value === "" ||
    value === 0 ||
    value === 0n ||
    value === false
  );
}
