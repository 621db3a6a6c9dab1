import { randomFillSync } from "node:crypto";

const uuidBytes = 16;
const pooledUuids = 128;
/** Random bytes that no UUID has used yet, from `used` on. */
const pool = Buffer.allocUnsafeSlow(pooledUuids * uuidBytes);
let used = pool.length;

const digits = Buffer.from("0123456789abcdef");
/** Where the digits of each byte stand in the text. */
const offsets = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
const text = Buffer.alloc(36, "-");

/**
 * A version 4 UUID in lower case, from a cryptographically secure source. The string is flat: that of
 * node:crypto is a tree of 36 parts, which takes six times the memory until something reads it whole.
 */
export function randomUuid(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const uuid = uuidFrom(pool, used);
  used += uuidBytes;
  return uuid;
}

/** Prints the 16 bytes at `start` as a version 4 UUID (RFC 9562) in lower case. */
export function uuidFrom(bytes: Uint8Array, start = 0): string {
  for (let i = 0; i < uuidBytes; i++) {
    const byte = withVersion(bytes[start + i]!, i);
    const offset = offsets[i]!;
    text[offset] = digits[byte >> 4]!;
    text[offset + 1] = digits[byte & 0x0f]!;
  }
  return text.toString("latin1");
}

function withVersion(byte: number, index: number): number {
  if (index === 6) return (byte & 0x0f) | 0x40;
  if (index === 8) return (byte & 0x3f) | 0x80;
  return byte;
}
