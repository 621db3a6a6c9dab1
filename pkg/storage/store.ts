import type { SortedMap } from "#base";
import type { Entry } from "./backend.ts";

/**
 * The object store: one per storage root (`/registry`), on top of any backend. It knows keys,
 * bytes,
 * revisions and continue tokens; not what the bytes mean.
 */
export interface ObjectStore {
  /**
   * The cache of one resource, by the prefix of its keys (`/configmaps/`). The same object every
   * time; it is filled when someone first reads from it.
   */
  collection(prefix: string): Collection;
  get(
    key: string,
    options?: { readonly signal?: AbortSignal },
  ): Promise<{ readonly entry: Entry | undefined; readonly revision: number }>;
  /**
   * The newest state of a key that this process knows without a call to the store; `entry` is
   * undefined for a key that a filled cache does not have. It may be outdated: compare-and-swap or
   * `get` confirms it. Undefined = nothing is known.
   */
  known(key: string): { readonly entry: Entry | undefined } | undefined;
  /** Keys with `prefix` in order, all as of one revision. */
  list(prefix: string, options: ListOptions): Promise<ListPage>;
  /** Writes a key that does not exist; undefined when it does exist. */
  create(key: string, value: Uint8Array, options?: WriteOptions): Promise<Entry | undefined>;
  /**
   * Replaces the version `expected`; answers the entry that stands there instead when it changed
   * meanwhile.
   */
  update(
    key: string,
    expected: number,
    value: Uint8Array,
    options?: WriteOptions,
  ): Promise<WriteOutcome>;
  delete(
    key: string,
    expected: number,
    options?: { readonly signal?: AbortSignal },
  ): Promise<WriteOutcome>;
  revision(signal?: AbortSignal): Promise<number>;
  /** Statistics of the caches, one entry per prefix. */
  statistics(): readonly CollectionStatistics[];
}

/** An object store whose caches can be copied with the store. */
export interface ForkableObjectStore extends ObjectStore {
  /**
   * What the caches hold, for the object store of a copy of the backend that is made in the same
   * turn of the event loop. Costs a reference per collection.
   */
  cacheSnapshot(): CacheSnapshot | undefined;
}

/** The filled caches of a store at one moment, for a copy of the store at that moment. */
export interface CacheSnapshot {
  /** Later changes are not in all of the states. */
  readonly revision: number;
  /** By the prefix of the collection. */
  readonly collections: ReadonlyMap<string, CachedState>;
}

/** A collection at one revision; never changes. */
export interface CachedState {
  readonly entries: SortedMap<Entry>;
  /** Size of the values in bytes. */
  readonly bytes: number;
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
  /** The changes after this revision are all known. */
  readonly from: number;
  /** Revision up to which the cache is current; 0 = not initialized. */
  readonly revision: number;
  readonly objects: number;
  /** Stored size of the current objects, in bytes. */
  readonly bytes: number;
  /** Stored size of entries that only past changes refer to, in bytes. */
  readonly pastBytes: number;
  /** Number of subscribers. */
  readonly watchers: number;
}

export interface WriteOptions {
  readonly ttlSeconds?: number;
  /**
   * Ends what follows the write, if its answer has to be made. The write itself is not called back:
   * it takes milliseconds, and an AbortSignal costs as much as a small read.
   */
  readonly signal?: AbortSignal;
}

export type WriteOutcome =
  /** For a delete: the entry as it was, with `revision` that of the deletion. */
  | { readonly done: true; readonly entry: Entry; readonly revision: number }
  | { readonly done: false; readonly current: Entry | undefined };

export interface ListOptions {
  readonly limit?: number;
  /** Exact revision to read at; absent = newest. */
  readonly revision?: number;
  /** Keys after this one (exclusive), relative to nothing: a full key. */
  readonly after?: string;
  readonly signal?: AbortSignal;
}

export interface ListPage {
  readonly entries: readonly Entry[];
  /** The revision the page was read at. */
  readonly revision: number;
  /** Keys that follow the last entry of the page. */
  readonly remaining: number;
}

/**
 * The objects below one prefix, in memory, with their recent past. Everything throws StoreFault
 * for what goes wrong below, `timeout` when the cache does not come up to date in time.
 */
export interface Collection {
  readonly prefix: string;
  /**
   * One entry, not older than the moment of the call; with `atLeast` not older than that revision
   * (0 = as the cache has it). While the cache is filled the store answers.
   */
  get(key: string, options: ReadOptions): Promise<Found>;
  /** All of it as of one moment, which is as new as `get` says. */
  newest(options: ReadOptions): Promise<Snapshot>;
  /** As of exactly this revision: from the recent past, or from the store if that is not enough. */
  at(revision: number, options: { readonly signal?: AbortSignal }): Promise<Snapshot>;
  /**
   * True when the cache knows that there is nothing below `prefix`, of all that was written through
   * this store; false when it takes a look to tell.
   */
  isKnownEmpty(prefix: string): boolean;
  /** Size of what is cached below `prefix`; undefined while the cache is not filled. */
  cachedSize(prefix: string): CachedSize | undefined;
  /** Resolves when the collection is in the cache. */
  filled(signal?: AbortSignal): Promise<void>;
  /** The newest revision that a write through this store made here; 0 = none. */
  readonly written: number;
  /**
   * When this process learned of the commit of a revision, as `performance.now()`; undefined for
   * one that is some thousands of revisions old.
   */
  committedAt(revision: number): number | undefined;
  /** Where the cache stands; undefined while it is not filled. */
  readonly span: Span | undefined;
  /** Changes after `revision`, which is in the span; those of one revision are together. */
  changesAfter(revision: number, limit?: number): readonly Change[];
  /** Changes below `prefix` from a revision before the span on, until the signal aborts. */
  past(
    prefix: string,
    fromRevision: number,
    signal: AbortSignal,
  ): AsyncIterable<{ readonly changes: readonly Change[]; readonly revision: number }>;
  /** Answers how to end the subscription. */
  subscribe(subscriber: Subscriber): () => void;
}

/** How much of a collection is in the cache. */
export interface CachedSize {
  readonly objects: number;
  /** Stored size in bytes; of a part of the collection by the average of the whole. */
  readonly bytes: number;
}

interface Found {
  readonly entry: Entry | undefined;
  readonly revision: number;
}

interface ReadOptions {
  readonly atLeast?: number;
  readonly signal?: AbortSignal;
}

/** Receives change notifications of a collection, at most one per turn of the event loop. */
export interface Subscriber {
  /** There are new changes. */
  changed(): void;
  /** The cache was reset: changes in between may be missing. */
  lost(): void;
}

export interface Span {
  /** The changes after this revision are all known. */
  readonly from: number;
  /** The cache is complete up to here. */
  readonly to: number;
}

/** One state of a collection. Cheap to hold: it shares all that did not change since. */
export interface Snapshot {
  readonly revision: number;
  /** Entries below `prefix` after the key `after`, `limit` at most, and how many follow them. */
  page(prefix: string, options: PageOptions): Promise<Page>;
}

export interface Page {
  /**
   * The entries in order, in pieces. Most pieces of a state in memory are the same array for every
   * reader, also of a later state, as long as none of their entries changes.
   */
  readonly runs: readonly (readonly Entry[])[];
  readonly remaining: number;
}

export interface PageOptions {
  readonly limit: number;
  readonly after?: string | undefined;
  readonly signal?: AbortSignal;
}

/** A change of one key. All subscribers share the same object. */
export interface Change {
  readonly key: string;
  readonly revision: number;
  /** undefined = deleted. */
  readonly entry: Entry | undefined;
  /** The entry before the change; undefined = the key did not exist. */
  readonly previous: Entry | undefined;
  /** For the layers above, as that of an entry. */
  derived: unknown;
}
