import assert from "node:assert/strict";
import { slowStart } from "./slow-start.ts";

describe("slowStart", () => {
  const sizes = async (count: number, failAt = Infinity) => {
    const batches: number[] = [];
    let open = 0;
    const result = await slowStart(count, async (index) => {
      open++;
      await Promise.resolve();
      if (open > 0) batches.push(open);
      open = 0;
      if (index === failAt) throw new Error(`failed ${index}`);
    });
    return { batches, ...result };
  };

  it("doubles its batches", async () => {
    assert.deepEqual((await sizes(10)).batches, [1, 2, 4, 3]);
    assert.equal((await sizes(10)).succeeded, 10);
    assert.deepEqual((await sizes(0)).batches, []);
  });

  it("stops after a batch with a failure", async () => {
    const { batches, succeeded, failures } = await sizes(10, 4);
    assert.deepEqual(batches, [1, 2, 4]);
    assert.equal(succeeded, 6);
    assert.deepEqual(failures.map(String), ["Error: failed 4"]);
  });
});
