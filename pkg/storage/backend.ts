/**
 * The storage contract: six verbs over keys, values and revisions, with etcd's semantics. Keys start
 * with `/` and are ordered by their UTF-8 bytes. Each transaction that writes increments the revision by
 * one; all its writes have that revision. Revisions are below 2^53.
 */

export interface Entry {
  readonly key: string;
  readonly value: Uint8Array;
  /** Revision of the transaction that created the key most recently. */
  readonly createRevision: number;
  /** Revision of the last write. */
  readonly modRevision: number;
  /**
   * Data that the registry derives from this version, such as the decoded object. Only cached entries
   * have it, which are shared by all readers.
   */
  derived?: unknown;
  /** Present if the value cannot be decrypted or is encrypted with an old key. */
  readonly encryption?: EncryptionStatus;
}

export interface EncryptionStatus {
  /** Why the value cannot be decrypted, without the key; it is empty in this case. */
  readonly fault?: string;
  /** Whether the value is encrypted with an old key, so that an unchanged update must write it. */
  readonly stale: boolean;
}

export interface RangeOptions {
  /** First key, inclusive. */
  readonly from: string;
  /** End of the range, exclusive; absent = only the key `from`. */
  readonly to?: string;
  /** Maximum number of entries; 0 or absent = unlimited. */
  readonly limit?: number;
  /** Revision to read at; 0 or absent = the newest. */
  readonly revision?: number;
  /** Returns entries with empty values. */
  readonly keysOnly?: boolean;
  readonly signal?: AbortSignal;
}

export interface RangeResult {
  readonly entries: readonly Entry[];
  /** Number of keys in the range, regardless of `limit`. */
  readonly count: number;
  /** The store's revision at the time of the read, not the requested one. */
  readonly revision: number;
}

/** A condition on the modification revision of a key; 0 = the key does not exist. */
export interface Compare {
  readonly key: string;
  readonly modRevision: number;
}

export type WriteOperation =
  | {
      readonly put: string;
      readonly value: Uint8Array;
      /** Time to live: the store deletes the key after about this time. */
      readonly ttlSeconds?: number;
    }
  | { readonly delete: string };

export interface Transaction {
  readonly compare: readonly Compare[];
  /** Applied atomically if all comparisons succeed; at most one operation per key. */
  readonly then: readonly WriteOperation[];
  /** Keys that are read atomically if a comparison fails. */
  readonly otherwise: readonly string[];
  readonly signal?: AbortSignal;
}

export interface TransactionResult {
  readonly succeeded: boolean;
  /** Revision of the transaction if it wrote, else the store's. */
  readonly revision: number;
  /** Entries of `otherwise` in order, undefined for absent keys; empty on success. */
  readonly read: readonly (Entry | undefined)[];
  /** Entries that the deletes of `then` removed, in order; optional for backends. */
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

/** Events by revision; those of one revision are in one batch. An empty batch notifies of progress. */
export interface WatchBatch {
  readonly events: readonly StoreEvent[];
  /** All events up to and including this revision have been delivered to the watcher. */
  readonly revision: number;
}

/** Options of a watch of all keys. */
export interface WatchOptions {
  /** First revision to deliver. */
  readonly fromRevision: number;
  /** Ends the watch: the iterator completes without an error. */
  readonly signal: AbortSignal;
  /** Whether events include previous entries, unless these have been compacted; default true. */
  readonly withPrevious?: boolean;
}

export interface Backend extends AsyncDisposable {
  /** Reads the entry of a key, by default at the newest revision; returns the store's revision, too. */
  get(
    key: string,
    options?: { readonly revision?: number; readonly signal?: AbortSignal },
  ): Promise<{ readonly entry: Entry | undefined; readonly revision: number }>;
  range(options: RangeOptions): Promise<RangeResult>;
  /** Resolves when the write is durable. */
  txn(transaction: Transaction): Promise<TransactionResult>;
  /**
   * Delivers all events from `fromRevision` on, in order, once, and across reconnects. Progress is
   * notified every few seconds while idle, and after `requestProgress()`.
   * @throws StoreFault `compacted` if the revision to start or resume from has been compacted, or
   *   `too-slow` if the consumer lags behind the backend's buffer
   */
  watch(options: WatchOptions): AsyncIterable<WatchBatch>;
  /** Requests a progress notification on all watches. */
  requestProgress(): void;
  /**
   * Deletes versions that only revisions before `revision` can read; no-op if already compacted.
   * @throws StoreFault `future-revision` if the store has not reached the revision
   */
  compact(revision: number): Promise<void>;
  /** The oldest readable revision that this process knows of. */
  readonly oldest?: number | undefined;
  /** The newest revision; linearizable: not older than any write acknowledged before the call. */
  revision(signal?: AbortSignal): Promise<number>;
}

/** Failures of the storage layer; the registry converts each of them to a StatusError. */
export type StoreFaultDetail =
  /** `oldest` is the oldest readable revision. */
  | { readonly kind: "compacted"; readonly oldest: number }
  | { readonly kind: "future-revision"; readonly current: number }
  | { readonly kind: "too-large"; readonly message: string }
  | { readonly kind: "too-slow" }
  /** A write was not applied; the message names the store and what it lacks. */
  | { readonly kind: "no-space"; readonly message: string }
  /** The store cannot be reached; with `maybeApplied` a write may have been applied. */
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
