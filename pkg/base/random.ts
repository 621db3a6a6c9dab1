import { randomBytes, randomInt } from "node:crypto";
import { randomUuid, uuidFrom } from "./uuid.ts";

/**
 * Source of random numbers, passed in so that tests are reproducible.
 */
export interface Random {
  /** A number in [0, 1). */
  next(): number;
  /** A whole number in [0, below). */
  below(below: number): number;
  /** One of `from`, which must not be empty. */
  pick<T>(from: readonly T[]): T;
  bytes(length: number): Uint8Array;
  /** A version 4 UUID in lower case. */
  uuid(): string;
}

/** Cryptographically secure, for names, tokens and UIDs. */
export const cryptoRandom: Random = {
  next: () => randomInt(2 ** 32) / 2 ** 32,
  below: (below) => randomInt(below),
  pick: (from) => from[randomInt(from.length)] as (typeof from)[number],
  bytes: (length) => randomBytes(length),
  uuid: randomUuid,
};

/**
 * A deterministic generator, seeded by a 32-bit number or a text (xorshift with a multiplied state; not
 * for secrets).
 */
export function seededRandom(seed: number | string): Random {
  let state = typeof seed === "number" ? seed >>> 0 : hash(seed);
  const next = () => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = state ^ (state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed = mixed ^ (mixed >>> 15);
    mixed = Math.imul(mixed, 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 0x1_0000_0000;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  const bytes = (length: number) => Uint8Array.from({ length }, () => below(256));
  const uuid = () => uuidFrom(bytes(16));
  const pick = <T>(from: readonly T[]): T => from[below(from.length)] as T;
  return { next, below, pick, bytes, uuid };
}

/** A shuffled copy of the items. */
export function shuffle<T>(random: Random, items: readonly T[]): T[] {
  const result = [...items];
  for (let i = result.length - 1; i > 0; i--) {
    const j = random.below(i + 1);
    [result[i], result[j]] = [result[j]!, result[i]!];
  }
  return result;
}

/** A random string of `length` characters from `alphabet`. */
export function randomText(random: Random, length: number, alphabet: string): string {
  let text = "";
  for (let i = 0; i < length; i++) text += alphabet[random.below(alphabet.length)];
  return text;
}

/** FNV-1a over UTF-16 units. */
function hash(text: string): number {
  let state = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) state = Math.imul(state ^ text.charCodeAt(i), 0x01000193);
  return state >>> 0;
}
