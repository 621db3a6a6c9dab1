import assert from "node:assert/strict";
import { setMaxListeners } from "node:events";
import { type Clock, seededRandom } from "#base";
import { SlowClock } from "./testing.ts";
import { RequeueAfter, WorkQueue } from "./work-queue.ts";

describe("work queue", () => {
  let clock: SlowClock;
  let life: AbortController;
  let queue: WorkQueue;
  let reported: string[];

  beforeEach(() => {
    clock = new SlowClock();
    life = new AbortController();
    setMaxListeners(0, life.signal);
    reported = [];
    const report = (what: string) => void reported.push(what);
    queue = new WorkQueue({ name: "test", clock, signal: life.signal, report });
  });
  afterEach(() => life.abort());

  it("processes a key once, and once more if it was added during processing", async () => {
    const done: string[] = [];
    for (let times = 0; times < 3; times++) queue.add("a");
    const running = queue.run(async (key) => {
      done.push(key);
      if (done.length === 1) {
        queue.add("a");
        queue.add("a");
      }
      await clock.sleep(10);
    });
    await clock.pass(100);
    assert.deepEqual(done, ["a", "a"]);
    life.abort();
    await running;
  });

  it("retries failures with exponential backoff, which success resets", async () => {
    const times: number[] = [];
    const start = clock.now();
    queue.add("a");
    void queue.run(async () => {
      times.push(clock.now() - start);
      if (times.length !== 6) throw new Error("no");
    });
    await clock.pass(10_000);
    assert.deepEqual(times, [0, 5, 15, 35, 75, 155]);
    assert.deepEqual(reported, ["test: a", "test: a"]);
    queue.add("a");
    await clock.pass(5);
    assert.deepEqual(times.slice(6), [10_000, 10_005]);
  });

  it("limits the backoff to 1000 seconds", async () => {
    let attempts = 0;
    queue.add("a");
    void queue.run(async () => {
      attempts += 1;
      throw new Error("never");
    });
    await clock.pass(2_000_000);
    const before = attempts;
    await clock.pass(10_000_000);
    assert.equal(attempts - before, 10);
  });

  it("limits the rate of retries over all keys", async () => {
    let attempts = 0;
    for (let key = 0; key < 500; key++) queue.add(String(key));
    void queue.run(async () => {
      attempts += 1;
      throw new RequeueAfter("not yet");
    });
    await clock.pass(1_000);
    // Every key once at first, then 100 at once and 10 per second. Keys wait for a token of their
    // own, so that those of the burst come back a few times more.
    assert.ok(attempts < 500 + 100 + 20, String(attempts));
    assert.ok(attempts >= 500 + 100, String(attempts));
  });

  it("keeps the earlier of two delays, and honors RequeueAfter", async () => {
    const times: number[] = [];
    const start = clock.now();
    queue.addAfter("a", 500);
    queue.addAfter("a", 100);
    queue.addAfter("a", 900);
    void queue.run(async () => {
      times.push(clock.now() - start);
      if (times.length === 1) throw new RequeueAfter("later", 3_000);
    });
    await clock.pass(10_000);
    assert.deepEqual(times, [100, 3_100]);
  });

  it("caps delays at the maximum of Node's timers", async () => {
    const sleeps: number[] = [];
    const sleep: SlowClock["sleep"] = (ms, signal) => {
      sleeps.push(ms);
      return clock.sleep(ms, signal);
    };
    const counting: Clock = {
      now: () => clock.now(),
      nowMicros: () => clock.nowMicros(),
      monotonic: () => clock.monotonic(),
      sleep,
    };
    const report = () => undefined;
    const far = new WorkQueue({ name: "far", clock: counting, signal: life.signal, report });
    far.addAfter("a", 365 * 86_400_000);
    let worked = 0;
    void far.run(async () => {
      worked++;
    });
    await clock.pass(25 * 86_400_000);
    assert.equal(worked, 1);
    assert.deepEqual(sleeps, [2 ** 31 - 1]);
  });

  it("neither loses a key nor processes one concurrently, with many workers", async () => {
    const random = seededRandom(3);
    const atWork = new Set<string>();
    /** By key: how often it was added, and how often that had been when work last began. */
    const added = new Map<string, number>();
    const seen = new Map<string, number>();
    void queue.run(
      async (key) => {
        assert.ok(!atWork.has(key), `${key} twice at a time`);
        atWork.add(key);
        const noticed = added.get(key) ?? 0;
        await clock.sleep(random.below(30));
        atWork.delete(key);
        if (random.below(4) === 0) throw new Error("bad luck");
        seen.set(key, noticed);
      },
      { workers: 4 },
    );
    for (let step = 0; step < 400; step++) {
      const key = String(random.below(12));
      added.set(key, (added.get(key) ?? 0) + 1);
      if (random.below(3) === 0) queue.addAfter(key, random.below(200));
      else queue.add(key);
      await clock.pass(random.below(10));
    }
    await clock.pass(3_000_000);
    assert.deepEqual([...seen].sort(), [...added].sort());
  });

  it("stops when the signal aborts, after the keys in processing", async () => {
    let ended = false;
    queue.add("a");
    queue.add("b");
    const done: string[] = [];
    const running = queue.run(async (key) => {
      await clock.sleep(100);
      done.push(key);
    });
    void running.then(() => (ended = true));
    await clock.pass(50);
    life.abort();
    await clock.pass(10);
    assert.equal(ended, false);
    await clock.pass(100);
    assert.equal(ended, true);
    assert.deepEqual(done, ["a"]);
  });
});
