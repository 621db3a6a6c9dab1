import assert from "node:assert/strict";
import { StoreFault, type Backend } from "./backend.ts";
import { revisionOf, Subject, WatchReader } from "./suite-subject.ts";

export function registerWatchTests(subject: () => Subject, factory: () => Promise<Backend>): void {
  registerDelivery(subject);
  registerOrder(subject);
  registerPast(subject);
  registerProgress(subject);
  registerEnds(subject, factory);
}

function registerDelivery(subject: () => Subject): void {
  it("delivers past events from a revision on, then new events, with previous entries", async () => {
    const s = subject();
    await s.write({ a: "0" });
    const { revision } = await s.write({ a: "1" });
    await s.write({ a: "2", b: "1" });
    await using reader = new WatchReader(s.backend, { prefix: s.prefix, fromRevision: revision });
    const past = await reader.events(3);
    assert.deepEqual(
      past.map((event) => s.showEvent(event)),
      ["~a=1(0)", "~a=2(1)", "+b=1"],
    );
    await s.write({ a: undefined });
    await s.write({ a: "3" });
    const next = await reader.events(2);
    assert.deepEqual(
      next.map((event) => s.showEvent(event)),
      ["-a(2)", "+a=3"],
    );
    assert.deepEqual(next.map(revisionOf), [revision + 2, revision + 3]);
    const [, created] = next;
    assert.ok(created?.type === "put" && created.previous === undefined);
  });

  it("waits for a future start revision and omits earlier events", async () => {
    const s = subject();
    const { revision } = await s.write({ a: "0" });
    await using reader = new WatchReader(s.backend, {
      prefix: s.prefix,
      fromRevision: revision + 3,
    });
    const first = reader.events(1);
    for (const text of ["1", "2", "3"]) await s.write({ a: text });
    assert.deepEqual(
      (await first).map((event) => s.showEvent(event)),
      ["~a=3(2)"],
    );
  });
}

function registerOrder(subject: () => Subject): void {
  it("never splits a transaction over two batches", async () => {
    const s = subject();
    const { revision } = await s.write({ start: "0" });
    for (let i = 0; i < 20; i++) await s.write({ a: `${i}`, b: `${i}`, c: `${i}` });
    await using reader = new WatchReader(s.backend, {
      prefix: s.prefix,
      fromRevision: revision + 1,
    });
    let seen = 0;
    let newest = revision;
    while (seen < 60) {
      const batch = await reader.batch();
      for (const [at, events] of groupBy(batch!.events, revisionOf)) {
        assert.equal(events.length, 3, `all of revision ${at} at once`);
        assert.ok(at > newest, "in order");
        newest = at;
      }
      seen += batch!.events.length;
    }
  });

  it("is gapless, ordered and without duplicates under concurrent writers", async function () {
    const s = subject();
    const { revision } = await s.write({ start: "0" });
    await using early = new WatchReader(s.backend, {
      prefix: s.prefix,
      fromRevision: revision + 1,
    });
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      const revisions: number[] = [];
      for (let i = 0; i < 40; i++) {
        revisions.push((await s.write({ [`w${writer}`]: String(i) })).revision);
      }
      return revisions;
    });
    const live = early.events(320);
    const written = (await Promise.all(writers)).flat().toSorted((a, b) => a - b);
    await using late = new WatchReader(s.backend, { prefix: s.prefix, fromRevision: revision + 1 });
    for (const events of [await live, await late.events(320)]) {
      assert.deepEqual(events.map(revisionOf), written);
      const texts = new Map<string, string[]>();
      for (const event of events) {
        assert.ok(event.type === "put");
        const list = texts.get(event.entry.key) ?? [];
        texts.set(event.entry.key, [...list, s.text(event.entry)!]);
        assert.equal(s.text(event.previous), list.at(-1), "the previous entry is the one before");
      }
      for (const list of texts.values()) {
        assert.deepEqual(
          list,
          Array.from({ length: 40 }, (_, i) => String(i)),
        );
      }
    }
  });
}

function registerPast(subject: () => Subject): void {
  it("delivers a long history completely", async function () {
    const s = subject();
    const { revision } = await s.write({ start: "0" });
    const text = "x".repeat(2000);
    for (let i = 0; i < 1500; i += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, j) => s.write({ [`k${i + j}`]: text })));
    }
    await using reader = new WatchReader(s.backend, {
      prefix: s.prefix,
      fromRevision: revision + 1,
    });
    const events = await reader.events(1500);
    const revisions = Array.from({ length: 1500 }, (_, i) => revision + 1 + i);
    assert.deepEqual(events.map(revisionOf), revisions);
  });

  it("omits previous entries unless requested", async () => {
    const s = subject();
    const { revision } = await s.write({ a: "1" });
    await s.write({ a: "2" });
    const controller = new AbortController();
    const options = { fromRevision: revision, signal: controller.signal };
    const events: string[] = [];
    for await (const batch of s.backend.watch({ ...options, withPrevious: false })) {
      events.push(...batch.events.map((event) => s.showEvent(event)));
      if (events.length >= 2) break;
    }
    controller.abort();
    assert.deepEqual(events, ["+a=1", "~a=2"]);
  });
}

function registerProgress(subject: () => Subject): void {
  it("notifies of progress up to every acknowledged revision on request", async () => {
    const s = subject();
    const { revision } = await s.write({ a: "1" });
    await using reader = new WatchReader(s.backend, {
      prefix: s.prefix,
      fromRevision: revision + 1,
    });
    const other = new Subject(s.backend).next();
    const { revision: elsewhere } = await other.write({ outside: "1" });
    const next = reader.batch("progress");
    for (;;) {
      s.backend.requestProgress();
      const batch = await Promise.race([next, new Promise((resolve) => setTimeout(resolve, 100))]);
      if (batch !== undefined) break;
    }
    const batch = await next;
    assert.deepEqual(batch!.events, []);
    assert.ok(batch!.revision <= elsewhere);
    if (batch!.revision < elsewhere) {
      s.backend.requestProgress();
      assert.ok((await reader.batch("more progress"))!.revision >= elsewhere);
    }
  });

  it("notifies of progress periodically while idle", async function () {
    const s = subject();
    const { revision } = await s.write({ a: "1" });
    await using reader = new WatchReader(s.backend, {
      prefix: s.prefix,
      fromRevision: revision + 1,
    });
    for (;;) {
      const batch = await reader.batch("progress while idle");
      assert.deepEqual(batch!.events, []);
      if (batch!.revision >= revision) break;
    }
  });
}

function registerEnds(subject: () => Subject, factory: () => Promise<Backend>): void {
  it("completes without an error when its signal aborts, before or after its start", async () => {
    const s = subject();
    const fromRevision = (await s.backend.revision()) + 1;
    await using parked = new WatchReader(s.backend, { prefix: s.prefix, fromRevision });
    const waiting = parked.batch("the end");
    await new Promise((resolve) => setTimeout(resolve, 50));
    parked.abort();
    assert.equal(await waiting, undefined);
    assert.equal(await parked.batch("the end"), undefined);
    await using early = new WatchReader(s.backend, { prefix: s.prefix, fromRevision });
    early.abort();
    assert.equal(await early.batch("the end"), undefined);
    await s.write({ a: "1" });
    assert.equal(await early.batch("the end"), undefined);
  });

  it("fails with the oldest readable revision if its start was compacted", async () => {
    const s = subject();
    const { revision: r1 } = await s.write({ a: "1" });
    const { revision: r2 } = await s.write({ a: "2" });
    const { revision: r3 } = await s.write({ a: "3" });
    await s.write({ a: "4" });
    await s.backend.compact(r3);
    for (const fromRevision of [r1, r2]) {
      await using reader = new WatchReader(s.backend, { prefix: s.prefix, fromRevision });
      const fault = await s.faultOf(reader.batch("a fault"));
      assert.ok(fault.kind === "compacted", fault.kind);
      assert.equal(fault.oldest, r3);
    }
    await using reader = new WatchReader(s.backend, { prefix: s.prefix, fromRevision: r3 + 1 });
    const [next] = await reader.events(1);
    assert.ok(next?.type === "put" && s.text(next.entry) === "4");
  });

  it("ends when the backend is disposed", async () => {
    const backend = await factory();
    const s = new Subject(backend).next();
    const { revision } = await s.write({ a: "1" });
    await using reader = new WatchReader(backend, { prefix: s.prefix, fromRevision: revision + 1 });
    const waiting = reader.batch("the end").catch((error: unknown) => error);
    await new Promise((resolve) => setTimeout(resolve, 100));
    await backend[Symbol.asyncDispose]();
    const end = await waiting;
    if (end !== undefined) assert.ok(end instanceof StoreFault && end.detail.kind === "closed");
  });
}

function groupBy<T, K>(items: readonly T[], keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}
