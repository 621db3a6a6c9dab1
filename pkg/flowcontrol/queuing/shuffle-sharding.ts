import { createHash } from "node:crypto";
import type { QueuingSettings } from "../contract.ts";

/** Hash bits that dealing may consume, as in Kubernetes. */
const maxHashBits = 60;
const limbBits = 20;
const limb = 2 ** limbBits;
const maxQueues = 2 ** 26;

/**
 * The validation error of the settings; undefined if they are valid. Validation on write has the same
 * rules, but does not cover objects that were written to the store directly.
 */
export function queuingFault(settings: QueuingSettings): string | undefined {
  const { queues, handSize, queueLengthLimit } = settings;
  if (![queues, handSize, queueLengthLimit].every((size) => Number.isInteger(size) && size > 0)) {
    return "queues, handSize and queueLengthLimit must be positive integers";
  }
  if (queues > maxQueues) return `queues must not exceed ${maxQueues}`;
  if (handSize > queues) return `handSize ${handSize} is greater than queues ${queues}`;
  const bits = Math.ceil(Math.log2(queues) * handSize);
  return bits > maxHashBits
    ? `queues ${queues} and handSize ${handSize} need ${bits} bits of entropy, more than ${maxHashBits}`
    : undefined;
}

/** Sixty hash bits of a flow as three limbs of 20 bits, the highest first. */
export type FlowHash = readonly [number, number, number];

/** Hash of a flow. The secret salt prevents clients from choosing names that collide with others. */
export function hashFlow(salt: string, flowSchema: string, flowDistinguisher: string): FlowHash {
  const hash = createHash("sha256");
  const digest = hash.update(`${salt}\u0000${flowSchema}\u0000${flowDistinguisher}`).digest();
  const at = (offset: number) => digest.readUInt32LE(offset) % limb;
  return [at(0), at(4), at(8)];
}

/**
 * Deals `handSize` different queue indexes: all hands are equally likely, in every order. The hash is
 * read as a number in a mixed radix (queues, queues - 1, …).
 */
export function deal({ queues, handSize }: QueuingSettings, hash: FlowHash): readonly number[] {
  let [high, middle, low] = hash;
  const remainders: number[] = [];
  for (let dealt = 0; dealt < handSize; dealt++) {
    const radix = queues - dealt;
    const second = (high % radix) * limb + middle;
    const third = (second % radix) * limb + low;
    high = Math.floor(high / radix);
    middle = Math.floor(second / radix);
    low = Math.floor(third / radix);
    remainders.push(third % radix);
  }
  // A remainder is an index among the undealt queues: shift it past those dealt before.
  return remainders.map((remainder, dealt) => {
    let card = remainder;
    for (let before = dealt - 1; before >= 0; before--) {
      if (card >= (remainders[before] as number)) card++;
    }
    return card;
  });
}
