import { assert, ownBytes } from "#base";
import { Cache, type CacheOptions } from "./cache/index.ts";
import { prefixEnd } from "./backend.ts";
import type { Backend, Entry, Transaction, TransactionResult } from "./backend.ts";
import { RecentWrites } from "./recent-writes.ts";
import type {
  ForkableObjectStore,
  ListOptions,
  ListPage,
  WriteOptions,
  WriteOutcome,
} from "./store.ts";

interface ObjectStoreOptions extends CacheOptions {
  /** Stands before every key in the backend, as `/registry`; does not end with a slash. */
  readonly root: string;
}

/** Size of the versions that are kept of recent writes, in bytes. */
const recentBytes = 4 * 2 ** 20;

/**
 * The object store of one root. All keys that go in and come out (entries, events, `after`) are
 * relative to the root: `/configmaps/default/a` is `/registry/configmaps/default/a` in the backend.
 * Throws StoreFault, and nothing else, for what can go wrong below.
 */
export function objectStore(backend: Backend, options: ObjectStoreOptions): ForkableObjectStore {
  const { root } = options;
  assert(root === "" || /^\/.*[^/]$/s.test(root), `storage root ${JSON.stringify(root)}`);
  const relative = (entry: Entry): Entry => stripped(entry, root.length);
  const recent = new RecentWrites(recentBytes);
  const cache = new Cache(backend, options, recent);
  const known = { cache, recent };
  return {
    collection: (prefix) => cache.collection(prefix),
    statistics: () => cache.statistics,
    cacheSnapshot: () => cache.snapshot(),

    async get(key, { signal } = {}) {
      const collection = cache.holding(key);
      if (collection?.span !== undefined) return collection.get(key, withSignal({}, signal));
      const { entry, revision } = await backend.get(root + key, withSignal({}, signal));
      return { entry: entry && relative(entry), revision };
    },

    known(key) {
      const [own, cached] = [recent.get(key), cache.holding(key)?.known(key)];
      if (own === undefined) return cached;
      const isNewer = (cached?.entry?.modRevision ?? 0) > own.modRevision;
      return isNewer ? cached : { entry: own };
    },

    async list(prefix, listOptions) {
      const page = await list(backend, root, { ...listOptions, prefix });
      return { ...page, entries: page.entries.map(relative) };
    },

    async create(key, value, writeOptions) {
      const result = await put(backend, { key: root + key, expected: 0, value, writeOptions });
      if (!result.succeeded) return undefined;
      const { revision } = result;
      return written(known, { key, value, createRevision: revision, modRevision: revision });
    },

    async update(key, expected, value, writeOptions): Promise<WriteOutcome> {
      assert(expected > 0, "an update names the version that it replaces");
      const put$ = { key: root + key, expected, value, writeOptions, otherwise: [root + key] };
      const result = await put(backend, put$);
      if (result.succeeded) {
        const { revision } = result;
        // The creation revision is not in the answer and callers do not need it: the wire has none.
        const entry = written(known, { key, value, createRevision: 0, modRevision: revision });
        return { done: true, entry, revision };
      }
      recent.delete(key);
      return { done: false, current: result.read[0] && relative(result.read[0]) };
    },

    async delete(key, expected) {
      const outcome = await remove(backend, root, { key, expected });
      recent.delete(key);
      if (outcome.done) cache.holding(key)?.noteWrite(outcome.revision);
      return outcome;
    },

    revision: (signal) => backend.revision(signal),
  };
}

async function list(
  backend: Backend,
  root: string,
  options: ListOptions & { readonly prefix: string },
): Promise<ListPage> {
  const { prefix, after, limit = 0, revision = 0, signal } = options;
  const first = root + prefix;
  const result = await backend.range(
    withSignal(
      {
        // The successor of a key in byte order is the key with a zero byte behind it.
        from: after === undefined || root + after < first ? first : `${root}${after}\0`,
        to: prefixEnd(first),
        limit,
        revision,
      },
      signal,
    ),
  );
  return {
    entries: result.entries,
    revision: revision > 0 ? revision : result.revision,
    remaining: result.count - result.entries.length,
  };
}

interface Put {
  readonly key: string;
  readonly expected: number;
  readonly value: Uint8Array;
  readonly writeOptions: WriteOptions | undefined;
  readonly otherwise?: readonly string[];
}

function put(backend: Backend, what: Put): Promise<TransactionResult> {
  const { ttlSeconds } = what.writeOptions ?? {};
  const operation = { put: what.key, value: what.value };
  const transaction: Transaction = {
    compare: [{ key: what.key, modRevision: what.expected }],
    then: [ttlSeconds ? { ...operation, ttlSeconds } : operation],
    otherwise: what.otherwise ?? [],
  };
  return backend.txn(transaction);
}

async function remove(
  backend: Backend,
  root: string,
  what: { readonly key: string; readonly expected: number },
): Promise<WriteOutcome> {
  assert(what.expected > 0, "a deletion names the version that it removes");
  const key = root + what.key;
  const transaction: Transaction = {
    compare: [{ key, modRevision: what.expected }],
    then: [{ delete: key }],
    otherwise: [key],
  };
  const result = await backend.txn(transaction);
  if (!result.succeeded) {
    const current = result.read[0];
    return { done: false, current: current && stripped(current, root.length) };
  }
  const removed = result.deleted?.[0] ?? (await before(backend, key, result.revision));
  return { done: true, entry: stripped(removed, root.length), revision: result.revision };
}

/** What `key` was just before it was deleted at `revision`, for backends that do not tell. */
async function before(backend: Backend, key: string, revision: number): Promise<Entry> {
  const { entry } = await backend.get(key, { revision: revision - 1 });
  assert(entry !== undefined, "the entry that was deleted existed one revision before");
  return entry;
}

/** The version that was just written: the same object as the cache has or will have. */
function written(
  { cache, recent }: { readonly cache: Cache; readonly recent: RecentWrites },
  { key, value, createRevision, modRevision }: Omit<Entry, "derived" | "encryption">,
): Entry {
  const cacher = cache.holding(key);
  cacher?.noteWrite(modRevision);
  const cached = cacher?.known(key)?.entry;
  if (cached?.modRevision === modRevision) return cached;
  const own = { key, value: ownBytes(value), createRevision, modRevision, derived: undefined };
  recent.add(own);
  return own;
}

function stripped(entry: Entry, length: number): Entry {
  const { value, createRevision, modRevision, encryption } = entry;
  const relative = { key: entry.key.slice(length), value, createRevision, modRevision };
  return encryption === undefined ? relative : { ...relative, encryption };
}

function withSignal<T extends object>(
  options: T,
  signal: AbortSignal | undefined,
): T & { readonly signal?: AbortSignal } {
  return signal === undefined ? options : { signal, ...options };
}
