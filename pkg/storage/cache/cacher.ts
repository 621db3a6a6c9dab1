import { assert, ownBytes, ownText } from "#base";
import { type Backend, type Entry, prefixEnd, type StoreEvent, StoreFault } from "../backend.ts";
import type {
  CachedSize,
  CachedState,
  Change,
  Collection,
  CollectionStatistics,
  Snapshot,
  Span,
  Subscriber,
} from "../store.ts";
import type { RecentWrites } from "../recent-writes.ts";
import type { CommitTimes } from "./commit-times.ts";
import { type StoreReflector, type EventHandler, keyOf } from "./store-reflector.ts";
import { cachedSnapshot, storedSnapshot } from "./snapshot.ts";
import { noStatistics, WatchCache, type WatchCacheLimits } from "./watch-cache.ts";

interface CacherOptions {
  readonly backend: Backend;
  readonly reflector: StoreReflector;
  /** Prefix of all keys in the backend, which cached keys do not have. */
  readonly root: string;
  readonly prefix: string;
  readonly commitTimes: CommitTimes;
  readonly recentWrites: RecentWrites;
  readonly limits: WatchCacheLimits;
  /** Runs `work` at the end of this turn of the event loop. */
  readonly later: (work: () => void) => void;
  /** Observes the time in seconds that a read waited for the reflector. */
  readonly waited: (seconds: number) => void;
}

interface Read {
  readonly atLeast?: number;
  readonly signal?: AbortSignal;
}

/** Page size of the list that fills the cache. */
const fillChunk = 2000;
/** Concurrent reads that bypass the cache while it is being filled; more would slow the list. */
const maxBypassing = 8;
/** Number of attempts of a read when the watch is lost. */
const attempts = 4;

/**
 * The cache of one collection. It is filled by a list at one revision; events that arrive during the
 * list are buffered, and applied if they are newer.
 */
export class Cacher implements Collection, EventHandler {
  readonly prefix: string;
  readonly #options: CacherOptions;
  readonly #subscribers = new Set<Subscriber>();
  #watchCache: WatchCache | undefined;
  /** The revision of the list that filled the cache; the reflector may still be behind it. */
  #filledAt = 0;
  #filling: Promise<WatchCache> | undefined;
  /** Events that arrived while the cache is being filled. */
  #buffered: StoreEvent[] = [];
  /** Number of reads that currently bypass the cache. */
  #bypassing = 0;
  #notified = false;
  #written = 0;
  readonly #counters = {
    received: 0,
    notifications: 0,
    fills: 0,
    consistentReads: 0,
    failedReads: 0,
  };

  constructor(options: CacherOptions) {
    this.#options = options;
    this.prefix = options.root + options.prefix;
  }

  /** Prefix of the cached keys, without the root. */
  get collection(): string {
    return this.#options.prefix;
  }

  /** The cached state for a copy of the store; undefined while the cache is not filled. */
  get state(): CachedState | undefined {
    if (this.#watchCache === undefined) return undefined;
    const { entries, statistics } = this.#watchCache;
    const { bytes, unreadable } = statistics;
    return { entries, bytes, unreadable, revision: this.#revision };
  }

  /** Initializes the cache with the state of the original store's cache. */
  restore(state: CachedState): void {
    this.#watchCache = new WatchCache(state, this.#options.limits);
    this.#filledAt = state.revision;
  }

  get written(): number {
    return this.#written;
  }

  noteWrite(revision: number): void {
    this.#written = Math.max(this.#written, revision);
    this.#options.commitTimes.note(revision);
  }

  committedAt(revision: number): number | undefined {
    return this.#options.commitTimes.of(revision);
  }

  get span(): Span | undefined {
    const watchCache = this.#watchCache;
    return watchCache && { from: watchCache.from, to: this.#revision };
  }

  get statistics(): CollectionStatistics {
    const { prefix } = this.#options;
    const watchCache = this.#watchCache?.statistics ?? noStatistics;
    const revision = this.#watchCache === undefined ? 0 : this.#revision;
    const watchers = this.#subscribers.size;
    return { ...this.#counters, prefix, ...watchCache, revision, watchers };
  }

  async get(key: string, options: Read): ReturnType<Collection["get"]> {
    if (this.#watchCache === undefined && this.#bypassing < maxBypassing) {
      return this.#bypass(key, options);
    }
    const watchCache = this.#ifReached(options.atLeast) ?? (await this.#fresh(options));
    return { entry: watchCache.entries.get(key), revision: this.#revision };
  }

  /** Reads from the store, and starts to fill the cache for later reads. */
  async #bypass(key: string, options: Read): ReturnType<Collection["get"]> {
    const { backend, root } = this.#options;
    this.#fill().catch(() => undefined);
    this.#bypassing += 1;
    try {
      const { entry, revision } = await backend.get(root + key, signalOf(options));
      return { entry: entry && cachedEntry(entry, root.length), revision };
    } finally {
      this.#bypassing -= 1;
    }
  }

  /** The cached state of a key, which may be stale; undefined while the cache is not filled. */
  known(key: string): { readonly entry: Entry | undefined } | undefined {
    return this.#watchCache && { entry: this.#watchCache.entries.get(key) };
  }

  async newest(options: Read): Promise<Snapshot> {
    const { entries } = this.#ifReached(options.atLeast) ?? (await this.#fresh(options));
    return cachedSnapshot(entries, this.#revision);
  }

  async at(revision: number, { signal }: { readonly signal?: AbortSignal }): Promise<Snapshot> {
    const { backend, root } = this.#options;
    signal?.throwIfAborted();
    if (this.#watchCache === undefined) this.#fill().catch(() => undefined);
    else if (revision > this.#revision) await this.#fresh({});
    const isReadable = revision >= (backend.oldest ?? 0) && revision <= this.#revision;
    const entries = isReadable ? this.#watchCache?.at(revision) : undefined;
    if (entries !== undefined) return cachedSnapshot(entries, revision);
    return storedSnapshot({ backend, root, revision });
  }

  isKnownEmpty(prefix: string): boolean {
    if (this.#watchCache === undefined || this.#revision < this.#written) return false;
    return this.#watchCache.entries.count(prefix, prefixEnd(prefix)) === 0;
  }

  cachedSize(prefix: string): CachedSize | undefined {
    if (this.#watchCache === undefined) return undefined;
    const { entries, statistics } = this.#watchCache;
    if (prefix === this.#options.prefix) return statistics;
    const objects = entries.count(prefix, prefixEnd(prefix));
    return { objects, bytes: (statistics.bytes * objects) / Math.max(1, statistics.objects) };
  }

  get unreadable(): number {
    return this.#watchCache?.statistics.unreadable ?? 0;
  }

  async filled(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    await (this.#watchCache ?? this.#fill());
    signal?.throwIfAborted();
  }

  changesAfter(revision: number, limit?: number): readonly Change[] {
    assert(this.#watchCache !== undefined, "only a filled cache has changes");
    return this.#watchCache.after(revision, limit);
  }

  async *past(
    prefix: string,
    fromRevision: number,
    signal: AbortSignal,
  ): ReturnType<Collection["past"]> & AsyncGenerator {
    const { backend, root } = this.#options;
    for await (const batch of backend.watch({ fromRevision, signal })) {
      const events = batch.events.filter((event) => keyOf(event).startsWith(root + prefix));
      const changes = events.map((event) => changeOf(event, root.length));
      yield { changes, revision: batch.revision };
    }
  }

  subscribe(subscriber: Subscriber): () => void {
    this.#subscribers.add(subscriber);
    return () => this.#subscribers.delete(subscriber);
  }

  onEvent(event: StoreEvent): void {
    this.#counters.received++;
    if (this.#watchCache === undefined) {
      if (this.#filling !== undefined) this.#buffered.push(event);
      return;
    }
    this.#apply(this.#watchCache, event);
    if (this.#subscribers.size > 0) {
      this.#options.commitTimes.note(
        event.type === "put" ? event.entry.modRevision : event.revision,
      );
    }
    if (this.#notified || this.#subscribers.size === 0) return;
    this.#notified = true;
    this.#options.later(() => {
      this.#notified = false;
      if (this.#watchCache === undefined) return;
      this.#counters.notifications += this.#subscribers.size;
      for (const subscriber of this.#subscribers) subscriber.changed();
    });
  }

  onReset(): void {
    this.#watchCache = undefined;
    this.#buffered = [];
    for (const subscriber of this.#subscribers) subscriber.lost();
  }

  /** The revision of the cached state. */
  get #revision(): number {
    return Math.max(this.#filledAt, this.#options.reflector.revision);
  }

  #apply(watchCache: WatchCache, event: StoreEvent): void {
    const { recentWrites, root } = this.#options;
    const key = keyOf(event).slice(root.length);
    if (event.type === "delete") {
      if (event.revision > this.#filledAt) watchCache.apply(key, event.revision, undefined);
      return;
    }
    const { modRevision } = event.entry;
    if (modRevision <= this.#filledAt) return;
    const entry = recentWrites.take(key, event.entry) ?? cachedEntry(event.entry, root.length);
    watchCache.apply(entry.key, modRevision, entry);
  }

  /** The watch cache if it has reached the revision; undefined without a revision. */
  #ifReached(revision: number | undefined): WatchCache | undefined {
    return revision !== undefined && revision <= this.#revision ? this.#watchCache : undefined;
  }

  /** The watch cache when it has reached `atLeast`, or else the store's current revision. */
  async #fresh({ atLeast, signal }: Read): Promise<WatchCache> {
    const { backend } = this.#options;
    for (let attempt = 0; attempt < attempts; attempt++) {
      const watchCache = this.#watchCache ?? (await this.#fill());
      if (this.#ifReached(atLeast) === watchCache) return watchCache;
      // A revision that this process wrote exists in the store, so its revision need not be read.
      const isWritten = atLeast !== undefined && atLeast <= this.#written;
      const target = isWritten ? atLeast : await backend.revision();
      signal?.throwIfAborted();
      const reached = target <= this.#revision || (await this.#waitFor(target));
      if (reached && watchCache === this.#watchCache) {
        this.#counters.consistentReads++;
        return watchCache;
      }
      this.#counters.failedReads++;
      signal?.throwIfAborted();
    }
    const message = "the watch of the store was lost repeatedly";
    throw new StoreFault({ kind: "unavailable", message, maybeApplied: false });
  }

  async #waitFor(revision: number): Promise<boolean> {
    const started = performance.now();
    try {
      return await this.#options.reflector.reached(revision);
    } finally {
      this.#options.waited((performance.now() - started) / 1000);
    }
  }

  #fill(): Promise<WatchCache> {
    this.#filling ??= this.#list().finally(() => {
      this.#filling = undefined;
      this.#buffered = [];
    });
    return this.#filling;
  }

  async #list(): Promise<WatchCache> {
    const { backend, reflector, root, limits } = this.#options;
    for (let attempt = 0; attempt < attempts; attempt++) {
      await reflector.running();
      const { generation } = reflector;
      this.#buffered = [];
      const { prefix } = this;
      const entries: (readonly [string, Entry])[] = [];
      let from = prefix;
      let revision = 0;
      for (;;) {
        const page = { from, to: prefixEnd(prefix), limit: fillChunk, revision };
        const result = await backend.range(page);
        if (revision === 0) revision = result.revision;
        for (const stored of result.entries) {
          const entry = cachedEntry(stored, root.length);
          entries.push([entry.key, entry]);
        }
        if (result.entries.length >= result.count) break;
        from = `${result.entries.at(-1)!.key}\0`;
      }
      // If the watch was lost, the buffered events may have gaps.
      if (reflector.generation !== generation) continue;
      const watchCache = new WatchCache(WatchCache.stateOf(entries, revision), limits);
      this.#filledAt = revision;
      for (const event of this.#buffered) this.#apply(watchCache, event);
      this.#watchCache = watchCache;
      this.#counters.fills++;
      return watchCache;
    }
    const message = "the cache could not be filled: the watch of the store was lost repeatedly";
    throw new StoreFault({ kind: "unavailable", message, maybeApplied: false });
  }
}

/** The cached form of an entry, shared by all readers, with room for `derived` data. */
function cachedEntry(entry: Entry, root: number): Entry {
  const { createRevision, modRevision, encryption } = entry;
  const key = ownText(entry.key.slice(root));
  const value = ownBytes(entry.value);
  const cached = { key, value, createRevision, modRevision, derived: undefined };
  return encryption === undefined ? cached : { ...cached, encryption };
}

function changeOf(event: StoreEvent, root: number): Change {
  const previous = event.previous && cachedEntry(event.previous, root);
  if (event.type === "delete") {
    const { key, revision } = event;
    return { key: key.slice(root), revision, entry: undefined, previous, derived: undefined };
  }
  const entry = cachedEntry(event.entry, root);
  return { key: entry.key, revision: entry.modRevision, entry, previous, derived: undefined };
}

function signalOf({ signal }: Read): { readonly signal?: AbortSignal } {
  return signal === undefined ? {} : { signal };
}
