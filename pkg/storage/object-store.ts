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
  /** Prefix of all keys in the backend, such as `/registry`, without trailing slash. */
  readonly root: string;
}

/** Size limit of the recent writes in bytes. */
const recentBytes = 4 * 2 ** 20;

/**
 * The object store below a root. All its keys are relative to the root: `/configmaps/default/a` is
 * `/registry/configmaps/default/a` in the backend. Failures of the backend are thrown as StoreFault.
 */
export function objectStore(backend: Backend, options: ObjectStoreOptions): ForkableObjectStore {
  const { root } = options;
  assert(root === "" || /^\/.*[^/]$/s.test(root), `storage root ${JSON.stringify(root)}`);
  const relative = (entry: Entry): Entry => stripRoot(entry, root.length);
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
      const [written, cached] = [recent.get(key), cache.holding(key)?.known(key)];
      if (written === undefined) return cached;
      const isNewer = (cached?.entry?.modRevision ?? 0) > written.modRevision;
      return isNewer ? cached : { entry: written };
    },

    async list(prefix, listOptions) {
      const page = await list(backend, root, { ...listOptions, prefix });
      return { ...page, entries: page.entries.map(relative) };
    },

    async create(key, value, writeOptions) {
      const result = await put(backend, { key: root + key, expected: 0, value, writeOptions });
      if (!result.succeeded) return undefined;
      const { revision } = result;
      return writtenEntry(known, { key, value, createRevision: revision, modRevision: revision });
    },

    async update(key, expected, value, writeOptions): Promise<WriteOutcome> {
      assert(expected > 0, "an update requires the expected revision");
      const otherwise = [root + key];
      const request = { key: root + key, expected, value, writeOptions, otherwise };
      const result = await put(backend, request);
      if (result.succeeded) {
        const { revision } = result;
        // A transaction does not return the creation revision, which no caller needs.
        const entry = writtenEntry(known, { key, value, createRevision: 0, modRevision: revision });
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
        // The next key in byte order is the key with a zero byte appended.
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

interface PutRequest {
  readonly key: string;
  readonly expected: number;
  readonly value: Uint8Array;
  readonly writeOptions: WriteOptions | undefined;
  readonly otherwise?: readonly string[];
}

function put(
  backend: Backend,
  { key, expected, value, writeOptions, otherwise = [] }: PutRequest,
): Promise<TransactionResult> {
  const { ttlSeconds } = writeOptions ?? {};
  const operation = { put: key, value };
  const transaction: Transaction = {
    compare: [{ key, modRevision: expected }],
    then: [ttlSeconds ? { ...operation, ttlSeconds } : operation],
    otherwise,
  };
  return backend.txn(transaction);
}

async function remove(
  backend: Backend,
  root: string,
  target: { readonly key: string; readonly expected: number },
): Promise<WriteOutcome> {
  assert(target.expected > 0, "a deletion requires the expected revision");
  const key = root + target.key;
  const transaction: Transaction = {
    compare: [{ key, modRevision: target.expected }],
    then: [{ delete: key }],
    otherwise: [key],
  };
  const result = await backend.txn(transaction);
  if (!result.succeeded) {
    const current = result.read[0];
    return { done: false, current: current && stripRoot(current, root.length) };
  }
  const removed = result.deleted?.[0] ?? (await previousEntry(backend, key, result.revision));
  return { done: true, entry: stripRoot(removed, root.length), revision: result.revision };
}

/** Reads the entry of a key that was deleted at `revision`, for backends that do not return it. */
async function previousEntry(backend: Backend, key: string, revision: number): Promise<Entry> {
  const { entry } = await backend.get(key, { revision: revision - 1 });
  assert(entry !== undefined, "a deleted entry exists at the previous revision");
  return entry;
}

/** The entry of a write: the same object that the cache has or will have. */
function writtenEntry(
  { cache, recent }: { readonly cache: Cache; readonly recent: RecentWrites },
  { key, value, createRevision, modRevision }: Omit<Entry, "derived" | "encryption">,
): Entry {
  const cacher = cache.holding(key);
  cacher?.noteWrite(modRevision);
  const cached = cacher?.known(key)?.entry;
  if (cached?.modRevision === modRevision) return cached;
  const entry = { key, value: ownBytes(value), createRevision, modRevision, derived: undefined };
  recent.add(entry);
  return entry;
}

function stripRoot(entry: Entry, length: number): Entry {
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
