import type { SortedMap } from "#base";
import type { Entry } from "./backend.ts";

/** The object store below a storage root (`/registry`), on top of any backend. Values are opaque. */
export interface ObjectStore {
  /**
   * The cache of a resource, by the prefix of its keys (`/configmaps/`). Created once per prefix, and
   * filled on the first read.
   */
  collection(prefix: string): Collection;
  get(
    key: string,
    options?: { readonly signal?: AbortSignal },
  ): Promise<{ readonly entry: Entry | undefined; readonly revision: number }>;
  /**
   * The newest state of a key that this process knows without a call to the store, which may be stale
   * until a compare-and-swap or `get` confirms it. `entry` is undefined if the key is absent from a
   * filled cache; the result is undefined if the state is unknown.
   */
  known(key: string): { readonly entry: Entry | undefined } | undefined;
  /** Lists the keys with `prefix` in order, at one revision. */
  list(prefix: string, options: ListOptions): Promise<ListPage>;
  /** Creates a key; undefined if it exists. */
  create(key: string, value: Uint8Array, options?: WriteOptions): Promise<Entry | undefined>;
  /** Replaces the version `expected`; returns the current entry if the version differs. */
  update(
    key: string,
    expected: number,
    value: Uint8Array,
    options?: WriteOptions,
  ): Promise<WriteOutcome>;
  /** Deletes the version `expected`; returns the current entry if the version differs. */
  delete(
    key: string,
    expected: number,
    options?: { readonly signal?: AbortSignal },
  ): Promise<WriteOutcome>;
  revision(signal?: AbortSignal): Promise<number>;
  /** Statistics of the caches, one entry per prefix. */
  statistics(): readonly CollectionStatistics[];
}

/** An object store with caches that can be copied with the store. */
export interface ForkableObjectStore extends ObjectStore {
  /**
   * The contents of the caches, for an object store over a copy of the backend that is made in the same
   * turn of the event loop. Costs a reference per collection.
   */
  cacheSnapshot(): CacheSnapshot | undefined;
}

/** The filled caches of a store at one moment, for a copy of the store at that moment. */
export interface CacheSnapshot {
  /** Revision that all states have reached; some may be newer. */
  readonly revision: number;
  /** States by prefix of the collection. */
  readonly collections: ReadonlyMap<string, CachedState>;
}

/** The contents of a collection at one revision; immutable. */
export interface CachedState {
  readonly entries: SortedMap<Entry>;
  /** Size of the values in bytes. */
  readonly bytes: number;
  /** Number of entries that cannot be decrypted. */
  readonly unreadable: number;
  readonly revision: number;
}

/** Statistics of the cache of one prefix; counters start at zero with the process. */
export interface CollectionStatistics {
  readonly prefix: string;
  /** Events received from the store. */
  readonly received: number;
  /** Notifications sent to subscribers. */
  readonly notifications: number;
  /** Number of initializations from the store. */
  readonly fills: number;
  /** Consistent reads that were served from the cache. */
  readonly consistentReads: number;
  /** Consistent reads that the cache could not serve. */
  readonly failedReads: number;
  /** Past changes that the watch cache holds. */
  readonly changes: number;
  /** All changes after this revision are in the watch cache. */
  readonly from: number;
  /** Revision up to which the cache is current; 0 = not initialized. */
  readonly revision: number;
  readonly objects: number;
  /** Stored size of the current objects, in bytes. */
  readonly bytes: number;
  /** Number of current objects that cannot be decrypted. */
  readonly unreadable: number;
  /** Stored size of entries that only past changes refer to, in bytes. */
  readonly pastBytes: number;
  /** Number of subscribers. */
  readonly watchers: number;
}

export interface WriteOptions {
  readonly ttlSeconds?: number;
  /**
   * Aborts reads that follow the write. The write itself is not aborted: it takes milliseconds, and an
   * AbortSignal costs as much as a small read.
   */
  readonly signal?: AbortSignal;
}

export type WriteOutcome =
  /** For a delete, `entry` is the deleted entry and `revision` that of the deletion. */
  | { readonly done: true; readonly entry: Entry; readonly revision: number }
  | { readonly done: false; readonly current: Entry | undefined };

export interface ListOptions {
  readonly limit?: number;
  /** Exact revision to read at; absent = newest. */
  readonly revision?: number;
  /** Lists keys after this full key, exclusive. */
  readonly after?: string;
  readonly signal?: AbortSignal;
}

export interface ListPage {
  readonly entries: readonly Entry[];
  /** Revision that the page was read at. */
  readonly revision: number;
  /** Number of keys after the last entry of the page. */
  readonly remaining: number;
}

/**
 * The cached objects below a prefix and their recent changes. Methods throw StoreFault; `timeout` if the
 * cache does not reach the required revision in time.
 */
export interface Collection {
  readonly prefix: string;
  /**
   * Reads an entry. The result is consistent, or with `atLeast` not older than that revision (0 = any
   * cached version). Until the cache is filled, it is read from the store.
   */
  get(key: string, options: ReadOptions): Promise<GetResult>;
  /** The whole collection at one revision, with the consistency of `get`. */
  newest(options: ReadOptions): Promise<Snapshot>;
  /** The collection at exactly this revision, from the watch cache or else from the store. */
  at(revision: number, options: { readonly signal?: AbortSignal }): Promise<Snapshot>;
  /**
   * Whether the cache includes all writes of this process and has no key below `prefix`; false if this
   * cannot be decided without a read.
   */
  isKnownEmpty(prefix: string): boolean;
  /** Size of the cached objects below `prefix`; undefined while the cache is not filled. */
  cachedSize(prefix: string): CachedSize | undefined;
  /** Number of cached entries that cannot be decrypted; 0 while the cache is not filled. */
  readonly unreadable: number;
  /** Resolves when the cache is filled. */
  filled(signal?: AbortSignal): Promise<void>;
  /** Revision of the last write to this collection by this process; 0 = none. */
  readonly written: number;
  /**
   * Time at which this process learned of the commit of a revision, as `performance.now()`; undefined
   * if the revision is some thousands old.
   */
  committedAt(revision: number): number | undefined;
  /** Revisions that the cache covers; undefined while it is not filled. */
  readonly span: Span | undefined;
  /** Changes after a revision of the span; those of one revision are never separated. */
  changesAfter(revision: number, limit?: number): readonly Change[];
  /** Changes below `prefix` from a revision before the span on, read from the store. */
  past(
    prefix: string,
    fromRevision: number,
    signal: AbortSignal,
  ): AsyncIterable<{ readonly changes: readonly Change[]; readonly revision: number }>;
  /** Returns a function that ends the subscription. */
  subscribe(subscriber: Subscriber): () => void;
}

/** Size of the cached objects of a collection, or of a namespace in it. */
export interface CachedSize {
  readonly objects: number;
  /** Stored size in bytes; for a namespace, estimated by the average object size. */
  readonly bytes: number;
}

interface GetResult {
  readonly entry: Entry | undefined;
  readonly revision: number;
}

interface ReadOptions {
  readonly atLeast?: number;
  readonly signal?: AbortSignal;
}

/** Receives change notifications of a collection, at most one per turn of the event loop. */
export interface Subscriber {
  /** Called when there are new changes. */
  changed(): void;
  /** Called when the cache was reset and changes may be missing. */
  lost(): void;
}

/** The range of revisions that a cache covers. */
export interface Span {
  /** All changes after this revision are in the watch cache. */
  readonly from: number;
  /** Revision up to which the cache is current. */
  readonly to: number;
}

/** A collection at one revision; it shares unchanged entries with other snapshots. */
export interface Snapshot {
  readonly revision: number;
  /** At most `limit` entries below `prefix` after the key `after`. */
  page(prefix: string, options: PageOptions): Promise<Page>;
}

export interface Page {
  /**
   * The entries in order, in chunks. Snapshots of a cache share the array of a chunk as long as none of
   * its entries changes.
   */
  readonly runs: readonly (readonly Entry[])[];
  /** Number of entries after the page. */
  readonly remaining: number;
}

export interface PageOptions {
  readonly limit: number;
  readonly after?: string | undefined;
  readonly signal?: AbortSignal;
}

/** A change of one key, shared by all subscribers. */
export interface Change {
  readonly key: string;
  readonly revision: number;
  /** The entry after the change; undefined = deleted. */
  readonly entry: Entry | undefined;
  /** The entry before the change; undefined = the key did not exist. */
  readonly previous: Entry | undefined;
  /** Data that the registry derives from the change, such as the encoded watch event. */
  derived: unknown;
}
