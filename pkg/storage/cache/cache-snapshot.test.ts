import assert from "node:assert/strict";
import { systemClock } from "#base";
import { memoryBackend } from "../embedded/index.ts";
import { objectStore } from "../object-store.ts";
import type { Entry } from "../backend.ts";
import type { ForkableObjectStore } from "../store.ts";

const root = "/registry";
const bytes = (text: string): Uint8Array => Buffer.from(text);

async function shown(store: ForkableObjectStore, prefix = "/a/"): Promise<readonly string[]> {
  const snapshot = await store.collection(prefix).newest({});
  const { runs } = await snapshot.page(prefix, { limit: 0 });
  return runs.flat().map(({ key, value }) => `${key}=${Buffer.from(value).toString()}`);
}

async function entryOf(store: ForkableObjectStore, key: string): Promise<Entry | undefined> {
  return (await store.collection("/a/").get(key, { atLeast: 0 })).entry;
}

describe("caches of a copy of the store", () => {
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

  const copied = (): ForkableObjectStore => {
    copy = original.snapshot()(systemClock);
    return objectStore(copy, { root, initial: store.cacheSnapshot() });
  };

  it("begin with what the original has cached, down to the same entries", async () => {
    await store.create("/a/x", bytes("1"));
    await shown(store);
    const other = copied();
    assert.ok(other.collection("/a/").span !== undefined);
    assert.equal(await entryOf(other, "/a/x"), await entryOf(store, "/a/x"));
    const [statistics] = other.statistics();
    assert.deepEqual([statistics?.fills, statistics?.objects, statistics?.bytes], [0, 1, 1]);
  });

  it("receive what was written just before the copy, and no event twice", async () => {
    await store.create("/a/x", bytes("1"));
    await shown(store);
    const written = await store.create("/a/y", bytes("2"));
    await store.update("/a/y", written!.modRevision, bytes("3"));
    const other = copied();
    assert.deepEqual(await shown(other), ["/a/x=1", "/a/y=3"]);
    assert.deepEqual(await shown(store), ["/a/x=1", "/a/y=3"]);
  });

  it("go on apart from those of the original", async () => {
    await store.create("/a/x", bytes("1"));
    await shown(store);
    const other = copied();
    await store.create("/a/original", bytes(""));
    await other.create("/a/copy", bytes(""));
    assert.deepEqual(await shown(store), ["/a/original=", "/a/x=1"]);
    assert.deepEqual(await shown(other), ["/a/copy=", "/a/x=1"]);
    assert.equal(other.statistics()[0]?.fills, 0);
  });

  it("are filled from the store where the original had none", async () => {
    await store.create("/a/x", bytes("1"));
    assert.deepEqual(await shown(copied()), ["/a/x=1"]);
  });

  it("are filled again when the past that they need was compacted", async () => {
    await store.create("/a/x", bytes("1"));
    await shown(store);
    await store.create("/a/y", bytes("2"));
    const initial = store.cacheSnapshot();
    await original.compact(await original.revision());
    copy = original.snapshot()(systemClock);
    assert.deepEqual(await shown(objectStore(copy, { root, initial })), ["/a/x=1", "/a/y=2"]);
  });
});
