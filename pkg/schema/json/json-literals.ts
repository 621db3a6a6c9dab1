import { assign } from "#base";

/**
 * Literals of numbers that a JavaScript number does not preserve: `15.0`, `1e1`, `1e400`, integers of
 * more than 64 bits. Go decodes integer fields from the literal, and errors contain it. They are stored
 * in a symbol property of the containing object or array, which copies do not have.
 */
const literals = Symbol("number literals");

/** The only integer literal that JavaScript prints differently; Go decodes it as 0. */
export const negativeZero = "-0";

type Holder = { [literals]?: Map<string | number, string> };

export function keepLiteral(holder: object, key: string | number, literal: string): void {
  const kept = (holder as Holder)[literals];
  if (kept !== undefined) {
    kept.set(key, literal);
    return;
  }
  Object.defineProperty(holder, literals, { value: new Map([[key, literal]]), enumerable: false });
}

/** Deletes the literal of a key whose value is replaced. */
export function dropLiteral(holder: object, key: string | number): void {
  (holder as Holder)[literals]?.delete(key);
}

export function literalAt(holder: object, key: string | number): string | undefined {
  return (holder as Holder)[literals]?.get(key);
}

/** A number with its literal, which replaces the number while a patch is applied. */
export class Written {
  constructor(
    readonly literal: string,
    readonly value: unknown,
  ) {}
}

/** Maximum depth; deeper values are rejected by all decoders, and left unchanged. */
const maxDepth = 500;

/** A copy of a parsed value where numbers with a stored literal are `Written`. */
export function withWritten(value: unknown, depth = 0): unknown {
  if (typeof value !== "object" || value === null || depth > maxDepth) return value;
  const written = (key: string | number, inner: unknown): unknown => {
    const literal = literalAt(value, key);
    return literal === undefined ? withWritten(inner, depth + 1) : new Written(literal, inner);
  };
  if (Array.isArray(value)) return value.map((inner, index) => written(index, inner));
  const copy: Record<string, unknown> = {};
  for (const [key, inner] of Object.entries(value)) assign(copy, key, written(key, inner));
  return copy;
}

/** Reverses `withWritten` in place. */
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
