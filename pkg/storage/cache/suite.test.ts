import { compareUtf8 } from "#base";
import type { Backend, Entry, RangeOptions, RangeResult } from "../backend.ts";
import { memoryBackend } from "../embedded/index.ts";
import { etcdBackend } from "../etcd/index.ts";
import { type EtcdCluster, startEtcd } from "../etcd/testing.ts";
import { objectStore } from "../object-store.ts";
import type { Collection } from "../store.ts";
import { storageSuite } from "../suite.ts";

const prefix = "/suite/";
const nothing = new Uint8Array(0);

/** A backend that reads through the cache, to verify that reads return every acknowledged write. */
function throughCache(inner: Backend): Backend {
  const store = objectStore(inner, { root: "" });
  const collection = store.collection(prefix);
  const range = async (options: RangeOptions): Promise<RangeResult> => {
    const { from, to, limit = 0, revision = 0, keysOnly = false, signal } = options;
    if (!from.startsWith(prefix)) return inner.range(options);
    signal?.throwIfAborted();
    await collection.filled();
    const { snapshot, newest } = await snapshotOf(collection, revision);
    const entries = (await snapshot.page(prefix, { limit: 1e9 })).runs.flat();
    const inRange = entries.filter(({ key }) => {
      return to === undefined
        ? key === from
        : compareUtf8(key, from) >= 0 && compareUtf8(key, to) < 0;
    });
    const limited = limit > 0 ? inRange.slice(0, limit) : inRange;
    const page = limited.map((entry): Entry => (keysOnly ? { ...entry, value: nothing } : entry));
    return { entries: page, count: inRange.length, revision: newest };
  };
  return {
    range,
    async get(key, options = {}) {
      const { entries, revision } = await range({ ...options, from: key });
      return { entry: entries[0], revision };
    },
    txn: (transaction) => inner.txn(transaction),
    watch: (options) => inner.watch(options),
    requestProgress: () => inner.requestProgress(),
    compact: (revision) => inner.compact(revision),
    revision: (signal) => inner.revision(signal),
    [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
  };
}

async function snapshotOf(collection: Collection, revision: number) {
  const newest = await collection.newest({});
  const snapshot = revision > 0 ? await collection.at(revision, {}) : newest;
  return { snapshot, newest: newest.revision };
}

storageSuite("cache over memory", async () => throughCache(memoryBackend({})), { fresh: true });

describe("etcd", () => {
  let etcd: EtcdCluster | undefined;
  before(async () => (etcd = await startEtcd()));
  after(() => etcd?.[Symbol.asyncDispose]());

  storageSuite("cache over etcd", async () =>
    throughCache(etcdBackend({ endpoints: etcd?.endpoints ?? [] })),
  );
});
