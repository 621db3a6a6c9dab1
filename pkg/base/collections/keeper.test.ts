import assert from "node:assert/strict";
import { Keeper } from "./keeper.ts";

describe("keeper", () => {
  it("lets the eldest go when there is too much", () => {
    const gone: number[] = [];
    const keeper = new Keeper(100);
    for (let i = 0; i < 10; i++) keeper.keep({ forget: () => gone.push(i) }, 30);
    assert.deepEqual(gone, [0, 1, 2, 3, 4, 5, 6]);
    assert.equal(keeper.bytes, 90);
    keeper.keep({ forget: () => gone.push(10) }, 101);
    assert.equal(gone.length, 11, "what is larger than the limit is not kept at all");
    assert.equal(keeper.bytes, 0);
  });

  it("stays as small as what it keeps", () => {
    const keeper = new Keeper(1000);
    let alive = 0;
    for (let i = 0; i < 100_000; i++) {
      alive += 1;
      keeper.keep({ forget: () => (alive -= 1) }, 10);
    }
    assert.equal(alive, 100);
  });
});
