import { DecodeFault } from "./faults.ts";

/**
 * Limits the depth of recursive types and values, for recursive code. The message is that of Go's JSON
 * scanner, whose limit is higher.
 */
export const maxRecursion = 500;

export function tooDeep(): DecodeFault {
  return new DecodeFault("exceeded max depth");
}

/** Rejects a JSON value that is nested too deeply. */
export function checkDepth(value: unknown, allowed = maxRecursion): void {
  if (typeof value !== "object" || value === null) return;
  if (allowed === 0) throw tooDeep();
  if (Array.isArray(value)) {
    for (const element of value) checkDepth(element, allowed - 1);
    return;
  }
  const object = value as Readonly<Record<string, unknown>>;
  for (const key in object) {
    const member = object[key];
    if (typeof member === "object") checkDepth(member, allowed - 1);
  }
}
