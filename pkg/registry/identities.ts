import { randomInt, randomUUID } from "node:crypto";
import type { Random } from "#base";

/** What the server makes up: uids, name suffixes, jitter. */
export interface Identities {
  /** A version 4 UUID. */
  uid(): string;
  /** The prefix, cut so that the name fits a label, and five characters. */
  name(prefix: string): string;
  /** A number in [0, 1). */
  chance(): number;
}

/** Without vowels and look-alikes, so that no words come out (source: Kubernetes' names). */
const alphabet = "bcdfghjklmnpqrstvwxz2456789";
const suffixLength = 5;
const longestName = 63;

/** Without `random`, from the operating system. */
export function identitiesOf(random?: Random): Identities {
  const below = random ? (limit: number) => random.below(limit) : randomInt;
  return {
    uid: () => (random ? uuidOf(random) : randomUUID()),
    name: (prefix) => prefix.slice(0, longestName - suffixLength) + suffix(below),
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
