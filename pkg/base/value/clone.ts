import type { Slices } from "../async/slices.ts";
import { assign } from "../text/bytes.ts";

/**
 * A deep copy of a JSON-shaped value; instances of classes are shared. The key `__proto__` is copied
 * like any other.
 */
export function deepClone<T>(value: T): T {
  return copy(value) as T;
}

/** As `deepClone` of a plain object, in slices: one member after the other. */
export function* deepCloneInSlices<T extends object>(value: T): Slices<T> {
  const target: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(value)) {
    assign(target, key, copy(member));
    yield;
  }
  return target as T;
}

function copy(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copy);
  const source = value as Readonly<Record<string, unknown>>;
  const prototype: unknown = Object.getPrototypeOf(value);
  const isBare = prototype === null;
  if (!isBare && prototype !== Object.prototype) return value;
  const target: Record<string, unknown> = isBare ? Object.create(null) : {};
  for (const key of Object.keys(source)) assign(target, key, copy(source[key]));
  return target;
}
