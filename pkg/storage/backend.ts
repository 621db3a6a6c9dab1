/**
 * Storage is six verbs over bytes and revisions. Keys are strings that start with `/`; they order
 * by
 * their UTF-8 bytes. A revision is a positive integer that grows by one with every transaction that
 * writes (etcd's meaning; all writes of one transaction share it). Revisions stay below 2^53.
 */

export interface Entry {
  readonly key: string;
  readonly value: Uint8Array;
  /** Revision of the transaction that created this key (since it last did not exist). */
  readonly createRevision: number;
  /** Revision of the transaction that last wrote it. */
  readonly modRevision: number;
  /**
   * What the layers above made of this version, kept as long as the entry is. Only entries of a
   * cache have room for it: they are one object for all readers.
   */
  derived?: unknown;
  /** Absent unless there is something to say of the value's encryption. */
  readonly encryption?: EncryptionStatus;
}

export interface EncryptionStatus {
  /** Why the value cannot be read; it is empty then. */
  readonly fault?: string;
  /** Encrypted with an old key: writing the same value again is worth it. */
  readonly stale: boolean;
}

export interface RangeOptions {
  /** First key, inclusive. */
  readonly from: string;
  /** First key that is no longer in the range; absent = only the key `from`. */
  readonly to?: string;
  /** Entries at most; 0 or absent = all. */
  readonly limit?: number;
  /** As of this revision; absent or 0 = the newest. */
  readonly revision?: number;
  /** Entries without their values (empty bytes). */
  readonly keysOnly?: boolean;
  readonly signal?: AbortSignal;
}

export interface RangeResult {
  readonly entries: readonly Entry[];
  /** How many keys the range has in all, regardless of `limit`. */
  readonly count: number;
  /** The store's revision when it answered (not the one asked for). */
  readonly revision: number;
}

/** Holds when the key's modification revision is exactly this; 0 = the key does not exist. */
export interface Compare {
  readonly key: string;
  readonly modRevision: number;
}

export type WriteOperation =
  | {
      readonly put: string;
      readonly value: Uint8Array;
      /** The store deletes the key after about this many seconds. */
      readonly ttlSeconds?: number;
    }
  | { readonly delete: string };

export interface Transaction {
  readonly compare: readonly Compare[];
  /** Applied as one, if every comparison holds. At most one operation per key. */
  readonly then: readonly WriteOperation[];
  /** Keys read if a comparison fails, as of the same moment. */
  readonly otherwise: readonly string[];
  readonly signal?: AbortSignal;
}

export interface TransactionResult {
  readonly succeeded: boolean;
  /** The transaction's own revision if it wrote, else the store's. */
  readonly revision: number;
  /**
   * For `otherwise`: the entries in the order asked for, undefined where there is none. Empty on
   * success.
   */
  readonly read: readonly (Entry | undefined)[];
  /**
   * Entries that the deletes of `then` removed, in their order. A backend that finds them costly
   * may leave this out.
   */
  readonly deleted?: readonly Entry[];
}

export type StoreEvent =
  | { readonly type: "put"; readonly entry: Entry; readonly previous: Entry | undefined }
  | {
      readonly type: "delete";
      readonly key: string;
      readonly revision: number;
      readonly previous: Entry | undefined;
    };

/**
 * Events in order of revision; all events of one revision are in one batch. An empty batch is
 * progress.
 */
export interface WatchBatch {
  readonly events: readonly StoreEvent[];
  /** Everything up to and including this revision has been delivered to this watcher. */
  readonly revision: number;
}

/** A watch is of all keys: then each revision has an event, and progress needs no extra message. */
export interface WatchOptions {
  /** First revision to deliver. */
  readonly fromRevision: number;
  /** Ends the watch; the iterator then finishes without an error. */
  readonly signal: AbortSignal;
  /**
   * Deliver previous entries with the events (default true). A previous entry that is already
   * compacted is undefined.
   */
  readonly withPrevious?: boolean;
}

export interface Backend extends AsyncDisposable {
  /** The newest entry of one key, with the store's revision. */
  get(
    key: string,
    options?: { readonly revision?: number; readonly signal?: AbortSignal },
  ): Promise<{ readonly entry: Entry | undefined; readonly revision: number }>;
  range(options: RangeOptions): Promise<RangeResult>;
  /** Resolves only when the write is as durable as the backend promises. */
  txn(transaction: Transaction): Promise<TransactionResult>;
  /**
   * Ordered, gapless, without duplicates from `fromRevision` on; survives reconnects by itself.
   * Throws
   * StoreFault `compacted` when the start (or the place to resume) is gone, `too-slow` when the
   * consumer
   * lags more than the backend's buffer. Delivers an empty batch as progress at least every few
   * seconds
   * while idle and as soon as possible after `requestProgress()`.
   */
  watch(options: WatchOptions): AsyncIterable<WatchBatch>;
  /** Asks for progress on all watches now. */
  requestProgress(): void;
  /**
   * Forgets versions older than `revision`, keeping what is alive at it. Nothing happens when that
   * was
   * done before; throws StoreFault `future-revision` when there is no such revision yet.
   */
  compact(revision: number): Promise<void>;
  /** The oldest revision that can be read, as far as this process knows. */
  readonly oldest?: number | undefined;
  /**
   * The newest revision, linearizable: at least that of every write acknowledged before the call.
   */
  revision(signal?: AbortSignal): Promise<number>;
}

/**
 * Everything that can go wrong below the registry; one total function there turns it into a
 * StatusError.
 */
export type StoreFaultDetail =
  /** `oldest` is the oldest revision that is still readable. */
  | { readonly kind: "compacted"; readonly oldest: number }
  | { readonly kind: "future-revision"; readonly current: number }
  | { readonly kind: "too-large"; readonly message: string }
  | { readonly kind: "too-slow" }
  | { readonly kind: "no-space" }
  /** The store cannot be reached; a write may or may not have happened when `maybeApplied`. */
  | { readonly kind: "unavailable"; readonly message: string; readonly maybeApplied: boolean }
  | { readonly kind: "timeout"; readonly message: string; readonly maybeApplied: boolean }
  | { readonly kind: "corrupt"; readonly message: string }
  | { readonly kind: "closed" };

export class StoreFault extends Error {
  override readonly name = "StoreFault";
  constructor(readonly detail: StoreFaultDetail) {
    super("message" in detail ? `${detail.kind}: ${detail.message}` : detail.kind);
  }
}

/** The end of the range of all keys that start with `prefix`. */
export function prefixEnd(prefix: string): string {
  const last = prefix.charCodeAt(prefix.length - 1);
  return prefix.slice(0, -1) + String.fromCharCode(last + 1);
}
