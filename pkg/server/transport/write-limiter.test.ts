import assert from "node:assert/strict";
import { WriteLimiter } from "./write-limiter.ts";

describe("WriteLimiter", () => {
  it("starts eight per turn of the event loop, in order", async () => {
    const pace = new WriteLimiter();
    const begun: number[] = [];
    for (let n = 0; n < 20; n++) {
      const wait = pace.enter();
      if (wait === undefined) begun.push(n);
      else void wait.then(() => begun.push(n));
    }
    const counts: number[] = [];
    while (counts.length < 4) {
      counts.push(begun.length);
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.deepEqual(counts, [8, 16, 20, 20]);
    assert.deepEqual(
      begun,
      begun.toSorted((a, b) => a - b),
    );
    assert.equal(pace.enter(), undefined, "who comes later does not wait");
  });
});
