import assert from "node:assert/strict";
import { AsyncQueue } from "./queue.ts";

describe("async queue", () => {
  it("delivers in order, to a waiting and to a later consumer", async () => {
    const queue = new AsyncQueue<number>(10);
    const first = queue.next();
    for (const item of [1, 2, 3]) assert.equal(queue.push(item), true);
    assert.deepEqual(await first, { done: false, value: 1 });
    queue.end();
    const rest: number[] = [];
    for await (const item of queue) rest.push(item);
    assert.deepEqual(rest, [2, 3]);
  });

  it("rejects items beyond the capacity until some are consumed", async () => {
    const queue = new AsyncQueue<number>(2);
    assert.deepEqual(
      [1, 2, 3].map((item) => queue.push(item)),
      [true, true, false],
    );
    assert.equal(queue.size, 2);
    await queue.next();
    assert.equal(queue.push(4), true);
    assert.deepEqual([(await queue.next()).value, (await queue.next()).value], [2, 4]);
  });

  it("throws a failure once and drops waiting items", async () => {
    const queue = new AsyncQueue<number>(5);
    queue.push(1);
    queue.fail(new Error("gone"));
    await assert.rejects(queue.next(), /gone/);
    assert.deepEqual(await queue.next(), { done: true, value: undefined });
    assert.equal(queue.push(2), false);
    const waiting = new AsyncQueue<number>(5);
    const next = waiting.next();
    waiting.fail(new Error("gone"));
    await assert.rejects(next, /gone/);
  });

  it("notifies the producer when the consumer stops", async () => {
    let left = 0;
    const queue = new AsyncQueue<number>(5, () => left++);
    queue.push(1);
    for await (const item of queue) {
      assert.equal(item, 1);
      break;
    }
    assert.equal(left, 1);
    assert.equal(queue.push(2), false);
  });

  it("keeps the order of many items added and consumed alternately", async () => {
    const queue = new AsyncQueue<number>(1000);
    let given = 0;
    let taken = 0;
    for (let round = 0; round < 100; round++) {
      for (let i = 0; i < 7; i++) queue.push(given++);
      for (let i = 0; i < 6; i++) assert.equal((await queue.next()).value, taken++);
    }
    assert.equal(queue.size, 100);
  });
});
