import assert from "node:assert/strict";
import { yieldEvery } from "./yield-every.ts";

/** Holds the event loop for longer than one piece of work may. */
function work(): void {
  const end = performance.now() + 10;
  while (performance.now() < end);
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("yieldEvery", () => {
  it("continues short work and yields in long work", async () => {
    const turn = yieldEvery();
    assert.equal(turn(), undefined);
    work();
    const wait = turn();
    assert.ok(wait instanceof Promise);
    await wait;
    assert.equal(turn(), undefined);
  });

  it("resumes one piece of work per turn of the event loop, in order", async () => {
    const turns = Array.from({ length: 4 }, yieldEvery);
    work();
    const resumed: number[] = [];
    const all = turns.map(async (turn, index) => {
      await turn();
      resumed.push(index);
    });
    const counts: number[] = [];
    while (counts.length < 5) {
      await nextTurn();
      counts.push(resumed.length);
    }
    await Promise.all(all);
    assert.deepEqual(resumed, [0, 1, 2, 3]);
    for (const [index, count] of counts.entries()) {
      assert.ok(count - (counts[index - 1] ?? 0) <= 1, `${counts.join(" ")}`);
    }
    assert.equal(counts.at(-1), 4);
  });
});
