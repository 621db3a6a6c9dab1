import assert from "node:assert/strict";
import { seededRandom } from "#base";
import { deal, type FlowHash, hashFlow, queuingFault } from "./shuffle-sharding.ts";

const queueLengthLimit = 50;

/** As many standard deviations that a count is away from what equal chances make likely. */
function farthest(counts: ReadonlyMap<unknown, number>, kinds: number, total: number): number {
  const expected = total / kinds;
  const all = [...counts.values(), ...Array.from({ length: kinds - counts.size }, () => 0)];
  return Math.max(...all.map((count) => Math.abs(count - expected) / Math.sqrt(expected)));
}

describe("shuffle sharding", () => {
  for (const [queues, handSize] of [
    [1, 1],
    [8, 8],
    [64, 8],
    [128, 6],
    [512, 4],
    [10_000_000, 2],
  ] as const) {
    it(`deals ${handSize} different queues of ${queues}`, () => {
      for (let n = 0; n < 500; n++) {
        const hand = deal({ queues, handSize, queueLengthLimit }, hashFlow("salt", "fs", `${n}`));
        assert.equal(new Set(hand).size, handSize);
        assert.ok(hand.every((queue) => Number.isInteger(queue) && queue >= 0 && queue < queues));
      }
    });
  }

  it("deals every hand in every order with equal probability", () => {
    const random = seededRandom(41);
    const counts = new Map<string, number>();
    const settings = { queues: 5, handSize: 3, queueLengthLimit };
    for (let n = 0; n < 60_000; n++) {
      const limb = () => random.below(2 ** 20);
      const hash: FlowHash = [limb(), limb(), limb()];
      const hand = deal(settings, hash).join();
      counts.set(hand, (counts.get(hand) ?? 0) + 1);
    }
    assert.equal(counts.size, 60);
    assert.ok(farthest(counts, 60, 60_000) < 4.5);
  });

  it("spreads flows evenly over the queues at every position of the hand", () => {
    const settings = { queues: 32, handSize: 6, queueLengthLimit };
    const counts = Array.from({ length: 6 }, () => new Map<number, number>());
    for (let n = 0; n < 20_000; n++) {
      for (const [card, queue] of deal(settings, hashFlow("salt", "fs", `user-${n}`)).entries()) {
        counts[card]!.set(queue, (counts[card]!.get(queue) ?? 0) + 1);
      }
    }
    for (const count of counts) assert.ok(farthest(count, 32, 20_000) < 4.5);
  });

  it("hashes by FlowSchema, distinguisher and salt", () => {
    const hashes = [
      hashFlow("salt", "a", "b"),
      hashFlow("salt", "a", "c"),
      hashFlow("salt", "c", "b"),
      hashFlow("pepper", "a", "b"),
    ];
    assert.equal(new Set(hashes.map(String)).size, 4);
    assert.deepEqual(hashFlow("salt", "a", "b"), hashes[0]);
  });

  it("rejects settings that it cannot deal", () => {
    const fault = (queues: number, handSize: number) =>
      queuingFault({ queues, handSize, queueLengthLimit });
    assert.equal(fault(64, 10), undefined);
    assert.match(fault(64, 11) ?? "", /need 66 bits of entropy, more than 60/);
    assert.match(fault(4, 5) ?? "", /handSize 5 is greater than queues 4/);
    assert.match(fault(0, 1) ?? "", /must be positive/);
    assert.match(fault(2 ** 26 + 1, 1) ?? "", /must not exceed/);
    assert.match(
      queuingFault({ queues: 1, handSize: 1, queueLengthLimit: 0.5 }) ?? "",
      /must be positive integers/,
    );
  });
});
