import assert from "node:assert/strict";
import { type Clock, systemClock } from "#base";
import { StoreFault, type StoreEvent } from "../backend.ts";
import { Subject, WatchReader } from "../suite-subject.ts";
import { Alarm } from "./alarm.ts";
import { CommitQueue } from "./commit-queue.ts";
import { History } from "./history.ts";
import type { JournalGroup } from "./journal.ts";
import { memoryBackend } from "./memory-backend.ts";
import { emptyState, write, type State } from "./state.ts";

/** A clock that a test turns. Sleepers wake in order of time. */
class TestClock implements Clock {
  time = 1_000_000;
  readonly #sleepers = new Set<{ readonly at: number; readonly wake: () => void }>();

  now(): number {
    return this.time;
  }

  nowMicros(): number {
    return this.time * 1000;
  }

  monotonic(): number {
    return this.time;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#sleepers.delete(sleeper);
        reject(signal!.reason);
      };
      const wake = (): void => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      };
      const sleeper = { at: this.time + ms, wake };
      this.#sleepers.add(sleeper);
      signal?.addEventListener("abort", onAbort);
    });
  }

  get sleepers(): number {
    return this.#sleepers.size;
  }

  async turn(ms: number): Promise<void> {
    const end = this.time + ms;
    for (;;) {
      const due = [...this.#sleepers].sort((a, b) => a.at - b.at)[0];
      if (due === undefined || due.at > end) break;
      this.#sleepers.delete(due);
      this.time = due.at;
      due.wake();
      await settle();
    }
    this.time = end;
    await settle();
  }
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("embedded store: time to live", () => {
  it("removes keys at their time, all that are due in one transaction", async () => {
    const clock = new TestClock();
    await using backend = memoryBackend({ clock });
    const s = new Subject(backend);
    const put = (name: string, ttlSeconds: number) => ({
      put: s.key(name),
      value: s.bytes("x"),
      ttlSeconds,
    });
    const then = [put("a", 10), put("b", 10), put("c", 3600), put("d", 5)];
    const { revision } = await backend.txn({ compare: [], then, otherwise: [] });
    await clock.turn(4_999);
    assert.equal((await backend.range(s.all)).count, 4);
    await clock.turn(1);
    assert.equal((await backend.range(s.all)).count, 3);
    await clock.turn(5_000);
    assert.deepEqual(
      (await backend.range(s.all)).entries.map((e) => s.bare(e.key)),
      ["c"],
    );
    assert.equal(await backend.revision(), revision + 2);
    await clock.turn(3_600_000);
    assert.equal((await backend.range(s.all)).count, 0);
    assert.equal(clock.sleepers, 0);
  });

  it("goes by the last write, and leaves no timer for keys that were deleted", async () => {
    const clock = new TestClock();
    await using backend = memoryBackend({ clock });
    const s = new Subject(backend);
    for (const ttlSeconds of [10, 2, 20]) {
      const then = [{ put: s.key("a"), value: s.bytes("x"), ttlSeconds }];
      await backend.txn({ compare: [], then, otherwise: [] });
    }
    await clock.turn(19_999);
    assert.notEqual((await s.get("a")).entry, undefined);
    await s.write({ a: undefined });
    assert.equal(clock.sleepers, 0);
  });

  it("removes thousands in several transactions", async () => {
    const clock = new TestClock();
    await using backend = memoryBackend({ clock });
    const s = new Subject(backend);
    const then = Array.from({ length: 1234 }, (_, i) => {
      return { put: s.key(String(i)), value: s.bytes("x"), ttlSeconds: 1 };
    });
    const { revision } = await backend.txn({ compare: [], then, otherwise: [] });
    await clock.turn(1_000);
    await settle();
    assert.equal((await backend.range(s.all)).count, 0);
    assert.equal(await backend.revision(), revision + 3);
  });

  it("survives a wall clock that is set back while an alarm waits", async () => {
    const clock = new TestClock();
    let rung = 0;
    using alarm = new Alarm(clock, () => (rung += 1));
    alarm.set(clock.time + 90_000);
    await clock.turn(60_000);
    clock.time -= 20_000;
    await clock.turn(49_999);
    assert.equal(rung, 0);
    await clock.turn(60_000);
    assert.equal(rung, 1);
  });
});

describe("embedded store: history", () => {
  it("replays the example of its comment", async () => {
    await using backend = memoryBackend();
    const s = new Subject(backend);
    for (const [name, text] of [
      ["a", "2"],
      ["b", "3"],
      ["a", undefined],
      ["c", "5"],
      ["a", "6"],
    ]) {
      await s.write({ [name!]: text });
    }
    assert.equal(await s.list(4), "b=3 c3 m3");
    assert.equal(await s.list(3), "a=2 c2 m2, b=3 c3 m3");
    assert.equal(await s.list(6), "a=6 c6 m6, b=3 c3 m3, c=5 c5 m5");
  });

  // 500 revisions; 300,000 bytes of 600 each; 50 seconds of 100 ms each. What goes, goes in chunks
  // of 128.
  for (const [bound, retention, most, least] of [
    ["revisions", { milliseconds: 1e9, revisions: 500, bytes: 1e9 }, 500, 370],
    ["bytes", { milliseconds: 1e9, revisions: 1e9, bytes: 300_000 }, 500, 370],
    ["milliseconds", { milliseconds: 50_000, revisions: 1e9, bytes: 1e9 }, 630, 500],
  ] as const) {
    it(`forgets by itself what exceeds its ${bound}`, async () => {
      const clock = new TestClock();
      await using backend = memoryBackend({ clock, limits: { retention } });
      const s = new Subject(backend);
      for (let i = 0; i < 2000; i++) {
        clock.time += 100;
        await s.write({ a: "x".repeat(400) });
      }
      const { oldest } = backend.history;
      const kept = 2001 - oldest + 1;
      assert.ok(kept <= most && kept >= least, `${kept} revisions kept`);
      const fault = await s.faultOf(backend.range({ ...s.all, revision: oldest - 1 }));
      assert.deepEqual(fault, { kind: "compacted", oldest });
      assert.equal((await backend.range({ ...s.all, revision: oldest })).count, 1);
    });
  }

  it("ends a watch that lags behind what is kept, and no other", async () => {
    const retention = { milliseconds: 1e9, revisions: 200, bytes: 1e9 };
    await using backend = memoryBackend({ limits: { retention } });
    const s = new Subject(backend);
    await using slow = new WatchReader(backend, { prefix: s.prefix, fromRevision: 2 });
    await using quick = new WatchReader(backend, { prefix: s.prefix, fromRevision: 2 });
    await using idle = new WatchReader(backend, {
      prefix: new Subject(backend, 99).prefix,
      fromRevision: 2,
    });
    const waiting = idle.batch();
    const first = slow.events(1);
    await s.write({ a: "0" });
    await first;
    for (let i = 0; i < 1000; i++) {
      await s.write({ a: String(i) });
      await quick.events(1);
    }
    assert.equal((await s.faultOf(slow.batch())).kind, "too-slow");
    assert.equal(await slow.batch(), undefined);
    backend.requestProgress();
    assert.deepEqual((await waiting)?.events, []);
  });

  it("forks into two stores that share the past and nothing after", async () => {
    await using backend = memoryBackend();
    const s = new Subject(backend);
    for (let i = 0; i < 300; i++) await s.write({ [`k${i % 7}`]: String(i) });
    const revision = await backend.revision();
    await using copy = backend.snapshot()(systemClock);
    const c = new Subject(copy);
    Object.assign(c, { prefix: s.prefix });
    assert.equal(await c.list(), await s.list());
    assert.equal(await c.list(100), await s.list(100));
    await s.write({ mine: "1" });
    await c.write({ yours: "1" });
    await c.write({ k0: undefined });
    assert.equal(await backend.revision(), revision + 1);
    assert.equal(await copy.revision(), revision + 2);
    assert.match(await s.list(), /mine/);
    assert.doesNotMatch(await s.list(), /yours/);
    assert.doesNotMatch(await c.list(), /mine|k0/);
    const events = await c.watched(revision, (all) => all.length === 3);
    assert.deepEqual(events.slice(1), ["+yours=1", events[2]]);
    assert.match(events[2]!, /^-k0\(/);
  });

  it("refuses transactions and keys beyond its limits", async () => {
    await using backend = memoryBackend({ limits: { transactionBytes: 10_000, keyBytes: 100 } });
    const s = new Subject(backend);
    assert.equal((await s.faultOf(s.write({ a: "x".repeat(10_000) }))).kind, "too-large");
    assert.equal((await s.faultOf(s.write({ ["k".repeat(100)]: "x" }))).kind, "too-large");
    assert.equal((await s.faultOf(s.write({ ["\u20ac".repeat(33)]: "x" }))).kind, "too-large");
    assert.equal((await s.write({ a: "x".repeat(9_000) })).succeeded, true);
  });
});

describe("embedded store: group commit", () => {
  it("travels in groups, and shows nothing before it is durable", async () => {
    const { queue, groups, finish, published, step } = gate();
    const writes = ["a", "b", "c"].map((key) => queue.add(step(key), 0));
    await settle();
    assert.deepEqual(groups, [["a"]]);
    assert.deepEqual([queue.head.revision, published().revision], [4, 1]);
    finish();
    await writes[0];
    assert.equal(published().revision, 2);
    await settle();
    assert.deepEqual(groups, [["a"], ["b", "c"]]);
    finish();
    await Promise.all(writes);
    assert.equal(published().revision, 4);
  });

  it("takes back what was built on a group that found no space, and goes on", async () => {
    const { queue, finish, published, step, groups } = gate();
    const failing = ["a", "b"].map((key) => queue.add(step(key), 0));
    await settle();
    finish(new StoreFault({ kind: "no-space", message: "full" }));
    for (const write of failing) {
      await assert.rejects(write, (e) => e instanceof StoreFault && e.detail.kind === "no-space");
    }
    assert.deepEqual([queue.head.revision, published().revision], [1, 1]);
    const next = queue.add(step("c"), 0);
    await settle();
    finish();
    await next;
    assert.deepEqual(groups, [["a"], ["c"]]);
    assert.equal(published().revision, 2);
  });

  it("accepts no write after a failure of which nothing is certain", async () => {
    const { queue, finish, step } = gate();
    const write = queue.add(step("a"), 0);
    await settle();
    finish(new Error("input/output error"));
    const uncertain = (error: unknown) =>
      error instanceof StoreFault &&
      error.detail.kind === "unavailable" &&
      error.detail.maybeApplied;
    await assert.rejects(write, uncertain);
    await assert.rejects(queue.add(step("b"), 0), uncertain);
    await assert.rejects(queue.settled(), uncertain);
    await queue.idle();
  });
});

/** A commit queue over a journal whose groups finish when the test says so. */
function gate() {
  const groups: string[][] = [];
  const open: ((error?: Error) => void)[] = [];
  const history = new History(emptyState());
  const commit = ({ steps }: JournalGroup): Promise<void> => {
    const keyOf = (e: StoreEvent): string => (e.type === "put" ? e.entry.key : e.key);
    groups.push(steps.flatMap(({ events }) => events.map(keyOf)));
    return new Promise((resolve, reject) => {
      open.push((error) => (error === undefined ? resolve() : reject(error)));
    });
  };
  const published = (): State => history.state;
  const queue = new CommitQueue({
    journal: { commit, close: async () => undefined },
    published,
    publish: (step, time) => history.append(step, time),
    oldest: () => history.oldest,
  });
  const step = (key: string) => write(queue.head, [{ put: key, value: Buffer.from("x") }], 0);
  const finish = (error?: Error): void => open.shift()!(error);
  return { queue, groups, finish, published, step };
}
