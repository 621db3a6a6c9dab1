import { assign } from "../text/bytes.ts";

/**
 * A copy of a JSON-shaped value that shares nothing with it but instances of classes. A key
 * `__proto__` is copied like any other.
 */
export function deepClone<T>(value: T): T {
  return copy(value) as T;
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
