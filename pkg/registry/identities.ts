import { randomInt, randomUUID } from "node:crypto";
import type { Random } from "#base";

/** Source of uids, generated names and jitter. */
export interface Identities {
  /** A version 4 UUID. */
  uid(): string;
  /** The prefix, truncated to fit a DNS label, and a random suffix of five characters. */
  name(prefix: string): string;
  /** A number in [0, 1). */
  chance(): number;
}

/** Without vowels and look-alikes, so that suffixes are not words; that of apimachinery's rand. */
const alphabet = "bcdfghjklmnpqrstvwxz2456789";
const suffixLength = 5;
const maxNameLength = 63;

/** Identities from `random`; default: the operating system's randomness. */
export function identitiesOf(random?: Random): Identities {
  const below = random ? (limit: number) => random.below(limit) : randomInt;
  return {
    uid: () => (random ? uuidOf(random) : randomUUID()),
    name: (prefix) => prefix.slice(0, maxNameLength - suffixLength) + suffix(below),
    chance: () => below(2 ** 32) / 2 ** 32,
  };
}

function suffix(below: (limit: number) => number): string {
  let text = "";
  while (text.length < suffixLength) text += alphabet[below(alphabet.length)];
  return text;
}

function uuidOf(random: Random): string {
  const digits = Array.from({ length: 32 }, () => random.below(16).toString(16));
  digits[12] = "4";
  digits[16] = (8 + random.below(4)).toString(16);
  const hex = digits.join("");
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join("-");
}
