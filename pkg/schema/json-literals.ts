/**
 * The digits of numbers that a JavaScript number does not give back: `15.0`, `1e1`, `1e400`,
 * integers of more than 64 bits. Go reads an integer field from the digits, and shows them in its
 * errors. They are kept beside the value, on the object or array that holds it, invisible to every
 * other reader and lost when the value is copied.
 */
const literals = Symbol("number literals");

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
