import assert from "node:assert/strict";
import { Subject, type Fixture } from "./suite-subject.ts";
import { registerModelTests } from "./suite-model.ts";
import { registerWatchTests } from "./suite-watch.ts";
import { prefixEnd, StoreFault, type Backend } from "./backend.ts";

export interface SuiteOptions {
  /** Whether each call of the factory creates an empty store; default: it opens the same store. */
  readonly fresh?: boolean;
}

/**
 * Registers mocha tests of the contract of backends. The factory is called once for the suite and once
 * for each test that disposes its backend; tests use unique keys, so the store need not be empty.
 */
export function storageSuite(
  name: string,
  factory: () => Promise<Backend>,
  options: SuiteOptions = {},
): void {
  describe(`storage: ${name}`, () => {
    const fixture: Fixture = { factory, subject: undefined };
    before(async () => {
      fixture.subject = new Subject(await factory());
    });
    after(async () => {
      await fixture.subject?.backend[Symbol.asyncDispose]();
    });
    const subject = (): Subject => fixture.subject!.next();
    describe("transactions", () => registerTransactionTests(subject));
    describe("ranges", () => registerRangeTests(subject));
    describe("revisions", () => registerRevisionTests(subject));
    describe("time to live", () => registerExpiryTests(subject));
    describe("watches", () => registerWatchTests(subject, factory));
    describe("against a model", () => registerModelTests(subject));
    describe("disposal", () => registerEndTests(factory, options));
  });
}

function registerTransactionTests(subject: () => Subject): void {
  it("creates a key once", async () => {
    const s = subject();
    const first = await s.create("a", "one");
    assert.equal(first.succeeded, true);
    assert.deepEqual(first.read, []);
    const second = await s.create("a", "two");
    assert.equal(second.succeeded, false);
    assert.equal(s.show(second.read[0]), `a=one c${first.revision} m${first.revision}`);
    assert.ok(second.revision >= first.revision);
    const { entry, revision } = await s.get("a");
    assert.equal(s.show(entry), `a=one c${first.revision} m${first.revision}`);
    assert.ok(revision >= first.revision);
  });

  it("replaces only the expected version", async () => {
    const s = subject();
    const { revision: r1 } = await s.create("a", "one");
    const { revision: r2 } = await s.replace("a", r1, "two");
    assert.ok(r2 > r1);
    assert.equal(s.show((await s.get("a")).entry), `a=two c${r1} m${r2}`);
    for (const stale of [0, r1, r2 + 1]) {
      const result = await s.replace("a", stale, "three");
      assert.equal(result.succeeded, false);
      assert.equal(s.show(result.read[0]), `a=two c${r1} m${r2}`);
    }
  });

  it("deletes only the expected version, and creates the key again with a new create revision", async () => {
    const s = subject();
    const { revision: r1 } = await s.create("a", "one");
    assert.equal((await s.remove("a", r1 + 1)).succeeded, false);
    const { revision: r2, succeeded } = await s.remove("a", r1);
    assert.equal(succeeded, true);
    assert.ok(r2 > r1);
    assert.equal((await s.get("a")).entry, undefined);
    assert.equal((await s.remove("a", r1)).read[0], undefined);
    const { revision: r3 } = await s.create("a", "two");
    assert.equal(s.show((await s.get("a")).entry), `a=two c${r3} m${r3}`);
  });

  it("applies all writes of a transaction at one revision, or none", async () => {
    const s = subject();
    await s.create("old", "x");
    const { revision } = await s.write({ a: "1", b: "2", old: undefined });
    assert.equal(await s.list(), `a=1 c${revision} m${revision}, b=2 c${revision} m${revision}`);
    const failed = await s.backend.txn({
      compare: [
        { key: s.key("a"), modRevision: revision },
        { key: s.key("b"), modRevision: revision + 1 },
      ],
      then: [{ put: s.key("a"), value: s.bytes("9") }, { delete: s.key("b") }],
      otherwise: [s.key("b"), s.key("nothing"), s.key("a")],
    });
    assert.equal(failed.succeeded, false);
    assert.deepEqual(
      failed.read.map((entry) => entry && s.bare(entry.key)),
      ["b", undefined, "a"],
    );
    assert.equal(await s.list(), `a=1 c${revision} m${revision}, b=2 c${revision} m${revision}`);
  });

  it("does not increment the revision if nothing is written", async () => {
    const s = subject();
    const { revision } = await s.create("a", "one");
    const empty = await s.backend.txn({ compare: [], then: [], otherwise: [] });
    assert.equal(empty.succeeded, true);
    const nothing = await s.write({ missing: undefined });
    assert.equal(nothing.succeeded, true);
    assert.equal(nothing.revision, revision);
    assert.equal(await s.backend.revision(), revision);
    // Writing an unchanged value increments the revision.
    assert.equal((await s.write({ a: "one" })).revision, revision + 1);
  });

  it("succeeds for exactly one of many concurrent writers", async () => {
    const s = subject();
    const { revision } = await s.create("a", "0");
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, i) => s.replace("a", revision, String(i))),
    );
    const winners = results.flatMap((result, i) => (result.succeeded ? [i] : []));
    assert.equal(winners.length, 1);
    const { entry } = await s.get("a");
    assert.equal(s.text(entry), String(winners[0]));
    for (const result of results) {
      if (!result.succeeded) assert.equal(result.read[0]!.modRevision, entry!.modRevision);
    }
  });

  it("stores values unchanged: empty, all 256 bytes, and 1 MiB", async () => {
    const s = subject();
    const all = Uint8Array.from({ length: 256 }, (_, i) => i);
    const many = new Uint8Array(1024 * 1024).map((_, i) => (i * 31) >> 3);
    for (const [key, value] of Object.entries({ none: new Uint8Array(0), all, many })) {
      await s.backend.txn({ compare: [], then: [{ put: s.key(key), value }], otherwise: [] });
      const { entry } = await s.get(key);
      assert.equal(Buffer.compare(entry!.value, value), 0, key);
    }
  });

  it("rejects aborted calls", async () => {
    const s = subject();
    const signal = AbortSignal.abort(new Error("left"));
    const then = [{ put: s.key("a"), value: s.bytes("x") }];
    await assert.rejects(s.backend.txn({ compare: [], then, otherwise: [], signal }));
    await assert.rejects(s.backend.get(s.key("a"), { signal }));
    await assert.rejects(s.backend.range({ from: s.key("a"), signal }));
    assert.equal((await s.get("a")).entry, undefined);
  });
}

function registerRangeTests(subject: () => Subject): void {
  it("includes the start and excludes the end of a range, with limit and count", async () => {
    const s = subject();
    await s.write({ a: "1", b: "2", c: "3", d: "4" });
    const range = async (from: string, to: string | undefined, limit?: number) => {
      const bounds = { from: s.key(from), ...(to === undefined ? {} : { to: s.key(to) }) };
      const { entries, count } = await s.backend.range({ ...bounds, ...(limit && { limit }) });
      return `${entries.map((entry) => s.bare(entry.key)).join("")}/${count}`;
    };
    assert.equal(await range("a", "d"), "abc/3");
    assert.equal(await range("aa", "cc"), "bc/2");
    assert.equal(await range("a", "z", 2), "ab/4");
    assert.equal(await range("a", "z", 4), "abcd/4");
    assert.equal(await range("a", "z", 9), "abcd/4");
    assert.equal(await range("b", undefined), "b/1");
    assert.equal(await range("bb", undefined), "/0");
    assert.equal(await range("x", "z"), "/0");
  });

  it("reads old revisions, and returns the newest revision with them", async () => {
    const s = subject();
    const { revision: r1 } = await s.write({ a: "1", b: "1" });
    const { revision: r2 } = await s.write({ a: "2", b: undefined, c: "2" });
    const { revision: r3 } = await s.write({ a: undefined });
    assert.equal(await s.list(r1), `a=1 c${r1} m${r1}, b=1 c${r1} m${r1}`);
    assert.equal(await s.list(r2), `a=2 c${r1} m${r2}, c=2 c${r2} m${r2}`);
    assert.equal(await s.list(r3), `c=2 c${r2} m${r2}`);
    const page = await s.backend.range({ ...s.all, revision: r1, limit: 1 });
    assert.deepEqual([page.entries.length, page.count], [1, 2]);
    assert.ok(page.revision >= r3);
    const old = await s.backend.get(s.key("b"), { revision: r1 });
    assert.equal(s.show(old.entry), `b=1 c${r1} m${r1}`);
    assert.equal((await s.backend.get(s.key("b"), { revision: r2 })).entry, undefined);
  });

  it("omits values with keysOnly", async () => {
    const s = subject();
    const { revision } = await s.write({ a: "1" });
    const { entries } = await s.backend.range({ ...s.all, keysOnly: true });
    assert.equal(entries.map((entry) => s.show(entry)).join(), `a= c${revision} m${revision}`);
  });

  it("orders keys by their UTF-8 bytes", async () => {
    const s = subject();
    const names = ["a", "a/b", "a0", "B", "\u00e9", "\ud7ff", "\ue000", "\uff01", "\u{1f600}"];
    await s.write(Object.fromEntries(names.map((name) => [name, "x"])));
    const { entries } = await s.backend.range(s.all);
    const expected = names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    assert.deepEqual(
      entries.map((entry) => s.bare(entry.key)),
      expected,
    );
    const late = await s.backend.range({ from: s.key("\ue000"), to: s.key("\u{1f600}") });
    assert.deepEqual(
      late.entries.map((entry) => s.bare(entry.key)),
      ["\ue000", "\uff01"],
    );
  });

  it("returns thousands of entries", async () => {
    const s = subject();
    const value = "v".repeat(500);
    for (let i = 0; i < 3000; i += 100) {
      const keys = Array.from({ length: 100 }, (_, j) => [String(i + j).padStart(5, "0"), value]);
      await s.write(Object.fromEntries(keys));
    }
    const { entries, count } = await s.backend.range(s.all);
    assert.equal(count, 3000);
    assert.deepEqual(
      entries.map((entry) => Number(s.bare(entry.key))),
      Array.from({ length: 3000 }, (_, i) => i),
    );
    assert.ok(entries.every((entry) => entry.value.byteLength === 500));
  });
}

function registerRevisionTests(subject: () => Subject): void {
  it("rejects future revisions", async () => {
    const s = subject();
    const { revision } = await s.create("a", "1");
    const future = { ...s.all, revision: revision + 1000 };
    const fault = await s.faultOf(s.backend.range(future));
    assert.equal(fault.kind, "future-revision");
    assert.equal((await s.faultOf(s.backend.compact(revision + 1000))).kind, "future-revision");
  });

  it("rejects reads before the compacted revision and keeps entries that exist at it", async () => {
    const s = subject();
    const { revision: r1 } = await s.write({ a: "1", b: "1", gone: "1" });
    const { revision: r2 } = await s.write({ a: "2", gone: undefined });
    const { revision: r3 } = await s.write({ a: "3" });
    const { revision: r4 } = await s.write({ a: undefined, c: "4" });
    await s.backend.compact(r3);
    for (const revision of [r1, r2]) {
      const fault = await s.faultOf(s.backend.range({ ...s.all, revision }));
      assert.ok(fault.kind === "compacted", fault.kind);
      assert.ok(fault.oldest === r3, `oldest ${fault.oldest}, not ${r3}`);
      assert.equal((await s.faultOf(s.backend.get(s.key("b"), { revision }))).kind, "compacted");
    }
    assert.equal(await s.list(r3), `a=3 c${r1} m${r3}, b=1 c${r1} m${r1}`);
    assert.equal(await s.list(r4), `b=1 c${r1} m${r1}, c=4 c${r4} m${r4}`);
    assert.equal(await s.list(), await s.list(r4));
    await s.backend.compact(r2); // no-op: already compacted
    assert.equal(await s.list(r3), `a=3 c${r1} m${r3}, b=1 c${r1} m${r1}`);
  });

  it("returns a revision that is not older than any acknowledged write", async () => {
    const s = subject();
    for (let i = 0; i < 5; i++) {
      const { revision } = await s.write({ a: String(i) });
      assert.ok((await s.backend.revision()) >= revision);
    }
  });
}

function registerExpiryTests(subject: () => Subject): void {
  it("deletes expired keys, with events, unless they were written again", async () => {
    const s = subject();
    const { revision } = await s.create("stays", "x");
    // Long enough for the two writes that follow, on a slow disk too.
    const ttlSeconds = 5;
    const started = Date.now();
    await s.backend.txn({
      compare: [],
      then: ["goes", "renewed", "kept"].map((name) => {
        return { put: s.key(name), value: s.bytes("1"), ttlSeconds };
      }),
      otherwise: [],
    });
    await s.backend.txn({
      compare: [],
      then: [{ put: s.key("renewed"), value: s.bytes("2"), ttlSeconds: 600 }],
      otherwise: [],
    });
    await s.write({ kept: "2" }); // without a time to live
    const gone = (event: string): boolean => event.startsWith("-");
    const events = await s.watched(revision + 1, (all) => all.some(gone));
    assert.ok(Date.now() - started >= 2000, "not at once");
    assert.equal(events.at(-1), "-goes(1)");
    const { entries } = await s.backend.range(s.all);
    assert.deepEqual(
      entries.map((entry) => s.bare(entry.key)),
      ["kept", "renewed", "stays"],
    );
  });
}

function registerEndTests(factory: () => Promise<Backend>, options: SuiteOptions): void {
  it("rejects calls after disposal, and can be disposed twice", async () => {
    const backend = await factory();
    await backend.txn({
      compare: [],
      then: [{ put: "/suite-end/ttl", value: new Uint8Array(3), ttlSeconds: 60 }],
      otherwise: [],
    });
    await backend[Symbol.asyncDispose]();
    await backend[Symbol.asyncDispose]();
    const closed = (error: unknown) =>
      error instanceof StoreFault && error.detail.kind === "closed";
    await assert.rejects(backend.get("/suite-end/a"), closed);
    const all = { from: "/suite-end/", to: prefixEnd("/suite-end/") };
    await assert.rejects(backend.range(all), closed);
    await assert.rejects(backend.txn({ compare: [], then: [], otherwise: [] }), closed);
    await assert.rejects(backend.revision(), closed);
  });

  if (options.fresh === true) {
    it("starts at revision 1 and writes first at revision 2", async () => {
      await using backend = await factory();
      assert.equal(await backend.revision(), 1);
      const then = [{ put: "/suite-end/first", value: new Uint8Array(1) }];
      assert.equal((await backend.txn({ compare: [], then, otherwise: [] })).revision, 2);
      assert.equal(await backend.revision(), 2);
      assert.equal((await backend.range({ from: "/", to: "0", revision: 1 })).count, 0);
    });
  }
}
