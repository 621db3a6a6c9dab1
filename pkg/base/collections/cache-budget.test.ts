import assert from "node:assert/strict";
import { CacheBudget } from "./cache-budget.ts";

describe("CacheBudget", () => {
  it("evicts the oldest data beyond the limit", () => {
    const evicted: number[] = [];
    const budget = new CacheBudget(100);
    for (let i = 0; i < 10; i++) budget.add({ evict: () => evicted.push(i) }, 30);
    assert.deepEqual(evicted, [0, 1, 2, 3, 4, 5, 6]);
    assert.equal(budget.bytes, 90);
    budget.add({ evict: () => evicted.push(10) }, 101);
    assert.equal(evicted.length, 11, "data larger than the limit are evicted at once");
    assert.equal(budget.bytes, 0);
  });

  it("holds no reference to evicted data", () => {
    const budget = new CacheBudget(1000);
    let alive = 0;
    for (let i = 0; i < 100_000; i++) {
      alive += 1;
      budget.add({ evict: () => (alive -= 1) }, 10);
    }
    assert.equal(alive, 100);
  });
});
