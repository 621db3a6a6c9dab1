import { assign, sortedKeys } from "#base";

/** A copy with sorted keys, as Go prints maps, for error messages. */
export function inGoOrder(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(inGoOrder);
  const object = value as Readonly<Record<string, unknown>>;
  const copy: Record<string, unknown> = {};
  for (const name of sortedKeys(object)) {
    assign(copy, name, inGoOrder(object[name]));
  }
  return copy;
}
