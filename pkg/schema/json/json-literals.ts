import { assign } from "#base";

/**
 * The digits of numbers that a JavaScript number does not give back: `15.0`, `1e1`, `1e400`,
 * integers of more than 64 bits. Go reads an integer field from the digits, and shows them in its
 * errors. They are kept beside the value, on the object or array that holds it, invisible to every
 * other reader and lost when the value is copied.
 */
const literals = Symbol("number literals");

/** The one integer that JavaScript spells otherwise: Go reads it as 0. */
export const NEGATIVE_ZERO = "-0";

type Holder = { [literals]?: Map<string | number, string> };

export function keepLiteral(holder: object, key: string | number, literal: string): void {
  const kept = (holder as Holder)[literals];
  if (kept !== undefined) {
    kept.set(key, literal);
    return;
  }
  Object.defineProperty(holder, literals, { value: new Map([[key, literal]]), enumerable: false });
}

/** Drops what was kept for a key whose value is replaced. */
export function dropLiteral(holder: object, key: string | number): void {
  (holder as Holder)[literals]?.delete(key);
}

export function literalAt(holder: object, key: string | number): string | undefined {
  return (holder as Holder)[literals]?.get(key);
}

/** A number with its digits, standing in for it while a patch moves it about. */
export class Written {
  constructor(
    readonly literal: string,
    readonly value: unknown,
  ) {}
}

/** Below this, what is too deep for every reader is left as it is. */
const MAX_DEPTH = 500;

/** A copy of a parsed value in which numbers with digits of their own are `Written`. */
export function withWritten(value: unknown, depth = 0): unknown {
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return value;
  const written = (key: string | number, inner: unknown): unknown => {
    const literal = literalAt(value, key);
    return literal === undefined ? withWritten(inner, depth + 1) : new Written(literal, inner);
  };
  if (Array.isArray(value)) return value.map((inner, index) => written(index, inner));
  const copy: Record<string, unknown> = {};
  for (const [key, inner] of Object.entries(value)) assign(copy, key, written(key, inner));
  return copy;
}

/** Undoes `withWritten` in place: numbers again, their digits kept beside them. */
export function restoreWritten(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  const holder = value as Record<string | number, unknown>;
  const keys = Array.isArray(value) ? value.keys() : Object.keys(value);
  for (const key of keys) {
    const inner = holder[key];
    if (!(inner instanceof Written)) restoreWritten(inner);
    else {
      holder[key] = inner.value;
      keepLiteral(value, key, inner.literal);
    }
  }
}
