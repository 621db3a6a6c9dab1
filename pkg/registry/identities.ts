import { cryptoRandom, type Random, randomText } from "#base";

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
export function identitiesOf(random: Random = cryptoRandom): Identities {
  return {
    uid: () => random.uuid(),
    name: (prefix) => {
      const suffix = randomText(random, suffixLength, alphabet);
      return prefix.slice(0, maxNameLength - suffixLength) + suffix;
    },
    chance: () => random.next(),
  };
}
