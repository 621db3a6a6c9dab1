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

/** Sorts surrogates after all other UTF-16 units, as their code points are larger. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/** Keys sorted by UTF-8 bytes; fast if they are sorted already. */
export function sortedKeys(values: object): string[] {
  const keys = Object.keys(values);
  for (let index = 1; index < keys.length; index++) {
    if (compareUtf8(keys[index - 1]!, keys[index]!) > 0) return keys.sort(compareUtf8);
  }
  return keys;
}

/** Concatenates the parts. */
export function concatBytes(parts: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(parts);
}

/**
 * Reads the text of a stream; undefined if it is longer than `most` bytes, after which it is not read
 * further.
 */
export async function textWithin(
  body: AsyncIterable<Uint8Array>,
  most: number,
): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    // Leaving the loop destroys the stream.
    if (size > most) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size).toString("utf8");
}

/** A Buffer over the same memory. */
export function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Number of unused bytes beside a view up to which it is not copied. */
const slack = 64;

/**
 * A flat copy of the text, for long-lived keys. A V8 substring refers to its parent string, which it
 * keeps alive, and takes five times as long to compare.
 */
export function ownText(text: string): string {
  return [text.slice(0, 1), text.slice(1)].join("");
}

/**
 * A copy of the bytes in their own memory, for long-lived data: a view keeps its entire ArrayBuffer
 * alive, and Node allocates small Buffers from a shared pool.
 */
export function ownBytes(bytes: Uint8Array): Uint8Array {
  if (bytes.buffer.byteLength <= bytes.byteLength + slack) return bytes;
  const own = Buffer.allocUnsafeSlow(bytes.byteLength);
  own.set(bytes);
  return own;
}
