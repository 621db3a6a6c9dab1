import assert from "node:assert/strict";
import { seededRandom } from "#base";
import { StoreFault } from "../backend.ts";
import { memoryBackend } from "../embedded/index.ts";
import { objectStore } from "../object-store.ts";
import type { Collection, ObjectStore, Snapshot } from "../store.ts";
import { FaultyBackend } from "./testing.ts";

const bytes = (text: string): Uint8Array => Buffer.from(text);
const prefix = "/things/";

/** All entries of a snapshot as `a=1@5 b=2@6`. */
async function snapshotText(snapshot: Snapshot): Promise<string> {
  const entries = (await snapshot.page(prefix, { limit: 1e6 })).runs.flat();
  return entries
    .map(({ key, value, modRevision }) => {
      return `${key.slice(prefix.length)}=${Buffer.from(value).toString()}@${modRevision}`;
    })
    .join(" ");
}

async function kindOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    if (error instanceof StoreFault) return error.detail.kind;
    throw error;
  }
  return "no fault";
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const unavailable = new StoreFault({ kind: "unavailable", message: "cut", maybeApplied: false });

describe("cache", () => {
  let backend: FaultyBackend;
  let store: ObjectStore;
  let things: Collection;
  beforeEach(() => {
    backend = new FaultyBackend(memoryBackend({}));
    const reflector = { waitMs: 100, nudgeMs: 5 };
    store = objectStore(backend, { root: "/registry", reflector, watchCache: { changes: 200 } });
    things = store.collection(prefix);
  });
  afterEach(async () => {
    await backend[Symbol.asyncDispose]();
  });

  const write = async (name: string, text: string | undefined): Promise<number> => {
    const key = `/registry${prefix}${name}`;
    const then = text === undefined ? { delete: key } : { put: key, value: bytes(text) };
    const { revision } = await backend.txn({ compare: [], then: [then], otherwise: [] });
    return revision;
  };

  it("reads only the revision from the store once it is filled", async () => {
    const revision = await write("a", "1");
    assert.equal(await snapshotText(await things.newest({})), `a=1@${revision}`);
    backend.ranges.length = 0;
    for (let i = 0; i < 5; i++) {
      assert.equal((await things.get(`${prefix}a`, {})).entry?.modRevision, revision);
      assert.equal((await things.newest({})).revision, revision);
      assert.equal((await things.at(revision, {})).revision, revision);
    }
    assert.equal(backend.ranges.length, 0);
    const before = backend.revisions;
    await things.get(`${prefix}a`, { atLeast: 0 });
    await things.get(`${prefix}a`, { atLeast: revision });
    assert.equal(backend.revisions, before, "a revision that was reached is not requested");
  });

  it("includes the writes of this process in reads from the cache", async () => {
    await things.filled();
    const made = await store.create(`${prefix}a`, bytes("1"));
    assert.equal(things.written, made?.modRevision);
    backend.down = unavailable;
    const { entry } = await things.get(`${prefix}a`, { atLeast: things.written });
    assert.equal(entry?.modRevision, made?.modRevision);
    backend.down = undefined;
    const gone = await store.delete(`${prefix}a`, things.written);
    backend.down = unavailable;
    assert.ok(gone.done && things.written === gone.revision);
    const now = await things.newest({ atLeast: things.written });
    assert.deepEqual((await now.page(prefix, { limit: 5 })).runs.flat(), []);
  });

  it("is filled in pages, including changes during the list", async () => {
    for (let i = 0; i < 4500; i++) await write(`n${String(i).padStart(5, "0")}`, "x");
    const filling = things.newest({});
    for (let i = 0; i < 50; i++) {
      await write(`n${String(i * 90).padStart(5, "0")}`, "y");
      await write(`n${String(i * 90 + 1).padStart(5, "0")}`, undefined);
    }
    const snapshot = await filling;
    const stored = await backend.range({
      from: "/registry/things/",
      to: "/registry/things0",
      revision: snapshot.revision,
    });
    const entries = (await snapshot.page(prefix, { limit: 1e6 })).runs.flat();
    const text = (all: typeof stored.entries) => all.map((e) => `${e.key}@${e.modRevision}`).join();
    assert.equal(text(entries).replaceAll("/things", "/registry/things"), text(stored.entries));
    const now = await things.newest({});
    assert.equal((await now.page(prefix, { limit: 1e6 })).runs.flat().length, 4450);
  });

  it("returns every write that was acknowledged before the read", async () => {
    await things.filled();
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let i = 0; i < 50; i++) {
        const revision = await write(`w${writer}`, String(i));
        const { entry } = await things.get(`${prefix}w${writer}`, {});
        assert.equal(entry?.modRevision, revision);
        assert.ok((await things.newest({})).revision >= revision);
      }
    });
    await Promise.all(writers);
  });

  it("times out consistent reads while the watch is delayed", async () => {
    await write("a", "1");
    await things.filled();
    backend.hold();
    const revision = await write("a", "2");
    assert.equal(await kindOf(things.get(`${prefix}a`, {})), "timeout");
    assert.equal(await kindOf(things.newest({})), "timeout");
    assert.ok(backend.progressRequests > 0, "progress was requested");
    const stale = await things.get(`${prefix}a`, { atLeast: 0 });
    assert.equal(Buffer.from(stale.entry!.value).toString(), "1", "any version is sufficient");
    const waiting = things.get(`${prefix}a`, {});
    await nextTurn();
    backend.release();
    assert.equal((await waiting).entry?.modRevision, revision);
  });

  it("fails consistent reads while the store is unavailable", async () => {
    await write("a", "1");
    await things.filled();
    backend.down = unavailable;
    assert.equal(await kindOf(things.get(`${prefix}a`, {})), "unavailable");
    assert.equal(await kindOf(things.newest({})), "unavailable");
    assert.equal((await things.get(`${prefix}a`, { atLeast: 0 })).entry?.key, `${prefix}a`);
    backend.down = undefined;
    assert.equal((await things.get(`${prefix}a`, {})).entry?.key, `${prefix}a`);
  });

  it("bounds the reads that bypass the cache while it is filled", async () => {
    await write("a", "1");
    const reads = Array.from({ length: 50 }, () => things.get(`${prefix}a`, {}));
    assert.ok((await Promise.all(reads)).every(({ entry }) => entry?.key === `${prefix}a`));
    assert.equal(backend.gets, 8);
  });

  it("is filled by a later read if the store was unavailable at first", async () => {
    await write("a", "1");
    backend.down = unavailable;
    assert.equal(await kindOf(things.newest({})), "unavailable");
    backend.down = undefined;
    assert.match(await snapshotText(await things.newest({})), /^a=1/);
  });

  it("reaches revisions of keys outside its prefix", async () => {
    await things.filled();
    const elsewhere = { put: "/elsewhere/x", value: bytes("x") };
    const { revision } = await backend.txn({ compare: [], then: [elsewhere], otherwise: [] });
    assert.equal((await things.newest({})).revision, revision);
  });

  it("equals the store at every revision of random traffic", async () => {
    const seed = Date.now() % 1_000_000_007;
    const random = seededRandom(seed);
    await write("a", "0");
    await things.filled();
    const revisions: number[] = [];
    for (let step = 0; step < 600; step++) {
      const name = `k${random.below(12)}`;
      revisions.push(await write(name, random.below(3) === 0 ? undefined : String(step)));
      if (random.below(100) === 0) backend.cut(new StoreFault({ kind: "too-slow" }));
      if (random.below(10) > 0) continue;
      const revision = random.pick(revisions);
      const cached = await things.at(revision, {});
      const range = { from: `/registry${prefix}`, to: "/registry/things0", revision };
      const stored = await backend.range(range);
      const wanted = stored.entries
        .map(({ key, value, modRevision }) => {
          const name$ = key.slice(`/registry${prefix}`.length);
          return `${name$}=${Buffer.from(value).toString()}@${modRevision}`;
        })
        .join(" ");
      assert.equal(await snapshotText(cached), wanted, `at ${revision}, seed ${seed}`);
      const newest = await things.newest({});
      assert.equal(
        await snapshotText(newest),
        await snapshotText(await things.at(newest.revision, {})),
      );
    }
  });

  it("pages through a snapshot with the number of remaining entries", async () => {
    for (const name of "abcdef") await write(name, "1");
    const snapshot = await things.newest({});
    await write("cc", "1");
    const first = await snapshot.page(prefix, { limit: 2 });
    assert.deepEqual([first.runs.flat().at(-1)?.key, first.remaining], [`${prefix}b`, 4]);
    const again = await things.at(snapshot.revision, {});
    const second = await again.page(prefix, { limit: 3, after: `${prefix}b` });
    const names = second.runs
      .flat()
      .map(({ key }) => key.slice(prefix.length))
      .join("");
    assert.deepEqual([names, second.remaining], ["cde", 1]);
    await backend.compact(await backend.revision());
    const gone = await things.at(snapshot.revision, {});
    assert.equal(await kindOf(gone.page(prefix, { limit: 2 })), "compacted");
    const future = await things.at(99_999, {});
    assert.equal(await kindOf(future.page(prefix, { limit: 1 })), "future-revision");
  });

  it("notifies subscribers once per turn of all changes, with previous entries", async () => {
    await things.filled();
    const notifications: string[] = [];
    let cursor = things.span!.to;
    let calls = 0;
    const changed = (): void => {
      calls += 1;
      for (const { key, revision, entry, previous } of things.changesAfter(cursor)) {
        const text = (value?: Uint8Array) => (value ? Buffer.from(value).toString() : "");
        notifications.push(
          `${key.slice(prefix.length)}:${text(previous?.value)}>${text(entry?.value)}`,
        );
        cursor = revision;
      }
    };
    const end = things.subscribe({ changed, lost: () => notifications.push("lost") });
    await Promise.all([write("a", "1"), write("b", "1"), write("a", "2")]);
    await write("b", undefined);
    await nextTurn();
    await nextTurn();
    assert.deepEqual(notifications, ["a:>1", "b:>1", "a:1>2", "b:1>"]);
    assert.ok(calls < 4, `${calls} calls`);
    backend.cut(new StoreFault({ kind: "compacted", oldest: 5 }));
    await nextTurn();
    assert.equal(notifications.at(-1), "lost");
    assert.equal(things.span, undefined);
    end();
    await write("c", "1");
    assert.match(await snapshotText(await things.newest({})), /c=1/);
    assert.equal(notifications.at(-1), "lost");
  });

  it("separates collections with similar or nested prefixes", async () => {
    const longer = store.collection("/things/inner/");
    const other = store.collection("/things2/");
    await Promise.all([longer.filled(), other.filled()]);
    await write("x", "1");
    await store.create("/things2/y", bytes("2"));
    const inner = await longer.newest({});
    assert.deepEqual((await inner.page("/things/inner/", { limit: 5 })).runs.flat(), []);
    assert.equal((await other.get("/things2/y", {})).entry?.key, "/things2/y");
    assert.equal((await store.get("/things2/y")).entry?.key, "/things2/y");
  });
});
