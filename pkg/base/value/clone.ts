import { slicedLevels, sliceLength, type Slices } from "../async/slices.ts";
import { assign } from "../text/bytes.ts";

/**
 * A deep copy of a JSON-shaped value; instances of classes are shared. The key `__proto__` is copied
 * like any other.
 */
export function deepClone<T>(value: T): T {
  return copy(value) as T;
}

/** As `deepClone`, in slices. */
export function* deepCloneInSlices<T>(value: T): Slices<T> {
  return (yield* copyInSlices(value)) as T;
}

function copy(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copy);
  const target = emptyCopy(value);
  if (target === undefined) return value;
  const source = value as Readonly<Record<string, unknown>>;
  for (const key of Object.keys(source)) assign(target, key, copy(source[key]));
  return target;
}

/** An object of the same prototype; undefined for instances of classes. */
function emptyCopy(value: object): Record<string, unknown> | undefined {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null) return Object.create(null) as Record<string, unknown>;
  return prototype === Object.prototype ? {} : undefined;
}

/** As `copy`, in slices. */
function* copyInSlices(value: unknown, levels = slicedLevels): Slices<unknown> {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const list: unknown[] = [];
    for (const element of value as readonly unknown[]) {
      list.push(levels > 1 ? yield* copyInSlices(element, levels - 1) : copy(element));
      if (list.length % sliceLength === 0) yield;
    }
    return list;
  }
  const target = emptyCopy(value);
  if (target === undefined) return value;
  const source = value as Readonly<Record<string, unknown>>;
  for (const [index, key] of Object.keys(source).entries()) {
    if (index % sliceLength === 0) yield;
    const member = source[key];
    const isSliced = levels > 1 && typeof member === "object";
    assign(target, key, isSliced ? yield* copyInSlices(member, levels - 1) : copy(member));
  }
  return target;
}
