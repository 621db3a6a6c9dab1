import assert from "node:assert/strict";
import { StartLimiter } from "./start-limiter.ts";

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("StartLimiter", () => {
  it("starts requests for 8 ms per turn of the event loop, in order", async () => {
    let now = 0;
    const limiter = new StartLimiter(() => now);
    const started: number[] = [];
    const serve = async (id: number): Promise<void> => {
      const wait = limiter.enter();
      if (wait !== undefined) await wait;
      started.push(id);
      now += 3;
    };
    const all = Array.from({ length: 12 }, (_, id) => serve(id));
    const counts: number[] = [];
    while (started.length < all.length && counts.length < 20) {
      await nextTurn();
      counts.push(started.length);
    }
    await Promise.all(all);
    assert.deepEqual(
      started,
      started.toSorted((a, b) => a - b),
    );
    const perTurn = counts.map((count, index) => count - (counts[index - 1] ?? 0));
    assert.ok(Math.max(...perTurn.slice(1)) <= 3, perTurn.join(" "));
    assert.ok(counts.length >= 3);
  });

  it("starts a request immediately if the turn has time left", async () => {
    const limiter = new StartLimiter(() => 0);
    assert.equal(limiter.enter(), undefined);
    assert.equal(limiter.enter(), undefined);
    await nextTurn();
    assert.equal(limiter.enter(), undefined);
  });
});
