/**
 * Sets an own property whatever its name: plain assignment to `__proto__` would change the
 * prototype.
 */
export function assign(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key === "__proto__") {
    Object.defineProperty(target, key, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  } else {
    target[key] = value;
  }
}

/**
 * Order of two strings by their UTF-8 bytes, which is the order of code points. It differs from
 * JavaScript's order by UTF-16 units only where a surrogate meets a unit above U+DFFF.
 */
export function compareUtf8(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index++) {
    const a = left.charCodeAt(index);
    const b = right.charCodeAt(index);
    if (a !== b) return rank(a) - rank(b);
  }
  return left.length - right.length;
}

/** A surrogate stands for a code point above every single unit, so it moves behind them. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/** Keys in the order of their bytes, in which they mostly are already. */
export function sortedKeys(values: object): string[] {
  const keys = Object.keys(values);
  for (let index = 1; index < keys.length; index++) {
    if (compareUtf8(keys[index - 1]!, keys[index]!) > 0) return keys.sort(compareUtf8);
  }
  return keys;
}

/** One array with the bytes of all parts. */
export function concatBytes(parts: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(parts);
}

/**
 * The text of a body that comes in chunks; undefined once it is longer than `most` bytes, and then
 * no more of it is read.
 */
export async function textWithin(
  body: AsyncIterable<Uint8Array>,
  most: number,
): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    // Leaving the loop ends a stream, too.
    if (size > most) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size).toString("utf8");
}

/** The same memory seen as a Buffer. */
export function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Less than so many bytes beside a view are not worth a copy. */
const slack = 64;

/**
 * The text in memory of its own, for keys that are kept. What V8 cuts out of a text is not copied:
 * it keeps all of that alive, and takes five times as long to be compared.
 */
export function ownText(text: string): string {
  return [text.slice(0, 1), text.slice(1)].join("");
}

/**
 * The bytes in memory of their own, for what is kept long: a view keeps all of the memory alive
 * that
 * it looks into, and Node cuts small buffers out of common pieces.
 */
export function ownBytes(bytes: Uint8Array): Uint8Array {
  if (bytes.buffer.byteLength <= bytes.byteLength + slack) return bytes;
  const own = Buffer.allocUnsafeSlow(bytes.byteLength);
  own.set(bytes);
  return own;
}
