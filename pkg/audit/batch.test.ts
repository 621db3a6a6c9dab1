import assert from "node:assert/strict";
import { systemClock } from "#base";
import type { Backend } from "./backend.ts";
import { BufferedBackend, type BatchOptions } from "./batch.ts";
import type { AuditEvent } from "./event.ts";

function event(id: number, requestObject?: string): AuditEvent {
  return { id: String(id), requestObject } as AuditEvent;
}

/** A backend whose writes complete only when the test releases them. */
class Slow implements Backend {
  readonly batches: (readonly string[])[] = [];
  private readonly waiting: (() => void)[] = [];
  held = false;

  write(events: readonly AuditEvent[]): Promise<void> | undefined {
    this.batches.push(events.map(({ id }) => id));
    return this.held ? new Promise((resolve) => this.waiting.push(resolve)) : undefined;
  }
  release(): void {
    for (const resolve of this.waiting.splice(0)) resolve();
  }
  async close(): Promise<void> {}
}

const tick = () => new Promise<void>((resolve) => setTimeout(resolve, 1));

describe("batches of events", () => {
  let lost: number;
  let now: number;
  let slow: Slow;

  beforeEach(() => {
    lost = 0;
    now = 0;
    slow = new Slow();
  });

  function batches(options: Partial<BatchOptions>): BufferedBackend {
    const clock = { ...systemClock, monotonic: () => now };
    const onLoss = (_plugin: string, _error: unknown, count: number) => void (lost += count);
    const usual = { bufferSize: 10, maxSize: 2, maxWaitMs: 60_000 };
    return new BufferedBackend(slow, { ...usual, ...options }, { clock, onLoss });
  }

  it("are sent when full, the remaining events on close", async () => {
    const buffer = batches({});
    for (let id = 1; id <= 5; id++) buffer.write([event(id)]);
    assert.deepEqual(slow.batches, [
      ["1", "2"],
      ["3", "4"],
    ]);
    await buffer.close();
    assert.deepEqual(slow.batches.at(-1), ["5"]);
    buffer.write([event(6)]);
    assert.equal(lost, 1);
  });

  it("are sent after the maximum wait", async () => {
    const buffer = batches({ maxWaitMs: 0 });
    buffer.write([event(1)]);
    assert.deepEqual(slow.batches, []);
    await tick();
    await tick();
    assert.deepEqual(slow.batches, [["1"]]);
    await buffer.close();
  });

  it("drop events that exceed the buffer, in number or in length", async () => {
    slow.held = true;
    const buffer = batches({ bufferSize: 3, maxSize: 100 });
    for (let id = 1; id <= 4; id++) buffer.write([event(id)]);
    assert.equal(lost, 1);
    const heavy = batches({ maxSize: 100 });
    heavy.write([event(1, "x".repeat(200 * 2 ** 20)), event(2, "y".repeat(100 * 2 ** 20))]);
    assert.equal(lost, 2);
    slow.held = false;
    await buffer.close();
    await heavy.close();
    assert.deepEqual(slow.batches, [["1", "2", "3"], ["1"]]);
  });

  it("are sent at a limited rate and concurrency", async () => {
    const paced = batches({ throttle: { perSecond: 1, burst: 1 } });
    for (let id = 1; id <= 6; id++) paced.write([event(id)]);
    assert.equal(slow.batches.length, 1);
    now = 1000;
    paced.write([event(7)]);
    assert.equal(slow.batches.length, 2);
    await paced.close();
    slow.batches.length = 0;
    slow.held = true;
    const crowd = batches({ bufferSize: 200, maxSize: 1 });
    for (let id = 1; id <= 100; id++) crowd.write([event(id)]);
    assert.equal(slow.batches.length, 32);
    slow.held = false;
    slow.release();
    await tick();
    await crowd.close();
    assert.equal(slow.batches.length, 100);
    assert.equal(lost, 0);
  });
});
