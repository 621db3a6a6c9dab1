import type { Entry, WatchBatch } from "./backend.ts";

/**
 * The object store: one per storage root (`/registry`), on top of any backend. It knows keys,
 * bytes,
 * revisions and continue tokens; not what the bytes mean.
 */
export interface ObjectStore {
  get(
    key: string,
    options?: { readonly signal?: AbortSignal },
  ): Promise<{ readonly entry: Entry | undefined; readonly revision: number }>;
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
  watch(
    prefix: string,
    options: { readonly fromRevision?: number; readonly signal: AbortSignal },
  ): AsyncIterable<WatchBatch>;
  requestProgress(): void;
  revision(signal?: AbortSignal): Promise<number>;
}

export interface WriteOptions {
  readonly ttlSeconds?: number;
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
