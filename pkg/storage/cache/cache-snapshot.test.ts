import assert from "node:assert/strict";
import { systemClock } from "#base";
import { memoryBackend } from "../embedded/index.ts";
import { objectStore } from "../object-store.ts";
import type { Entry } from "../backend.ts";
import type { ForkableObjectStore } from "../store.ts";

const root = "/registry";
const bytes = (text: string): Uint8Array => Buffer.from(text);

async function entriesText(store: ForkableObjectStore, prefix = "/a/"): Promise<readonly string[]> {
  const snapshot = await store.collection(prefix).newest({});
  const { runs } = await snapshot.page(prefix, { limit: 0 });
  return runs.flat().map(({ key, value }) => `${key}=${Buffer.from(value).toString()}`);
}

async function entryOf(store: ForkableObjectStore, key: string): Promise<Entry | undefined> {
  return (await store.collection("/a/").get(key, { atLeast: 0 })).entry;
}

describe("cache snapshots", () => {
  let original: ReturnType<typeof memoryBackend>;
  let copy: ReturnType<typeof memoryBackend> | undefined;
  let store: ForkableObjectStore;
  beforeEach(() => {
    original = memoryBackend({});
    store = objectStore(original, { root });
  });
  afterEach(async () => {
    await copy?.[Symbol.asyncDispose]();
    copy = undefined;
    await original[Symbol.asyncDispose]();
  });

  const forkStore = (): ForkableObjectStore => {
    copy = original.snapshot()(systemClock);
    return objectStore(copy, { root, initial: store.cacheSnapshot() });
  };

  it("share the cached entries of the original", async () => {
    await store.create("/a/x", bytes("1"));
    await entriesText(store);
    const other = forkStore();
    assert.ok(other.collection("/a/").span !== undefined);
    assert.equal(await entryOf(other, "/a/x"), await entryOf(store, "/a/x"));
    const [statistics] = other.statistics();
    assert.deepEqual([statistics?.fills, statistics?.objects, statistics?.bytes], [0, 1, 1]);
  });

  it("include writes just before the copy, without duplicate events", async () => {
    await store.create("/a/x", bytes("1"));
    await entriesText(store);
    const written = await store.create("/a/y", bytes("2"));
    await store.update("/a/y", written!.modRevision, bytes("3"));
    const other = forkStore();
    assert.deepEqual(await entriesText(other), ["/a/x=1", "/a/y=3"]);
    assert.deepEqual(await entriesText(store), ["/a/x=1", "/a/y=3"]);
  });

  it("are independent of later writes to the original", async () => {
    await store.create("/a/x", bytes("1"));
    await entriesText(store);
    const other = forkStore();
    await store.create("/a/original", bytes(""));
    await other.create("/a/copy", bytes(""));
    assert.deepEqual(await entriesText(store), ["/a/original=", "/a/x=1"]);
    assert.deepEqual(await entriesText(other), ["/a/copy=", "/a/x=1"]);
    assert.equal(other.statistics()[0]?.fills, 0);
  });

  it("are filled from the store if the original was not cached", async () => {
    await store.create("/a/x", bytes("1"));
    assert.deepEqual(await entriesText(forkStore()), ["/a/x=1"]);
  });

  it("are filled again if the revisions that they need were compacted", async () => {
    await store.create("/a/x", bytes("1"));
    await entriesText(store);
    await store.create("/a/y", bytes("2"));
    const initial = store.cacheSnapshot();
    await original.compact(await original.revision());
    copy = original.snapshot()(systemClock);
    assert.deepEqual(await entriesText(objectStore(copy, { root, initial })), ["/a/x=1", "/a/y=2"]);
  });
});
