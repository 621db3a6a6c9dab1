import { assert, ownBytes, ownText, SortedMap } from "#base";
import { type Backend, type Entry, prefixEnd, type StoreEvent, StoreFault } from "../backend.ts";
import type {
  Change,
  Collection,
  CollectionFigures,
  Snapshot,
  Span,
  Subscriber,
} from "../store.ts";
import { type StoreReflector, type EventHandler, keyOf } from "./store-reflector.ts";
import { cachedSnapshot, storedSnapshot } from "./snapshot.ts";
import { noFigures, WatchCache, type WatchCacheLimits } from "./watch-cache.ts";

interface CacherOptions {
  readonly backend: Backend;
  readonly feed: StoreReflector;
  /** Stands before every key in the backend; keys here go without it. */
  readonly root: string;
  readonly prefix: string;
  readonly limits: WatchCacheLimits;
  /** Runs what was given to it once, later in this turn of the event loop. */
  readonly later: (work: () => void) => void;
  /** Hears how many seconds a read waited for the feed. */
  readonly waited: (seconds: number) => void;
}

interface Read {
  readonly atLeast?: number;
  readonly signal?: AbortSignal;
}

/** Entries that one read of the store brings while the cache is filled. */
const fillChunk = 2000;
/** Reads that pass to the store while the cache is filled; more would starve the filling. */
const mostPassing = 8;
/** How often a read begins anew because the feed did. */
const attempts = 4;

/**
 * The cache of one collection. It is filled by a list of one revision; what the feed delivers
 * meanwhile is held back and then applied as far as it is newer.
 */
export class Cacher implements Collection, EventHandler {
  readonly prefix: string;
  readonly #options: CacherOptions;
  readonly #subscribers = new Set<Subscriber>();
  #window: WatchCache | undefined;
  /** The revision of the list that filled the window: the feed may still be behind it. */
  #filledAt = 0;
  #filling: Promise<WatchCache> | undefined;
  /** Events that came while it is filled. */
  #held: StoreEvent[] = [];
  /** Reads that are passing to the store. */
  #passing = 0;
  #told = false;
  #written = 0;
  readonly #done = { received: 0, told: 0, fills: 0, consistentReads: 0, failedReads: 0 };

  constructor(options: CacherOptions) {
    this.#options = options;
    this.prefix = options.root + options.prefix;
    options.feed.add(this);
  }

  get written(): number {
    return this.#written;
  }

  noteWrite(revision: number): void {
    this.#written = Math.max(this.#written, revision);
  }

  get span(): Span | undefined {
    const window = this.#window;
    return window && { from: window.from, to: this.#revision };
  }

  get figures(): CollectionFigures {
    const { prefix } = this.#options;
    const window = this.#window?.figures ?? noFigures;
    const revision = this.#window === undefined ? 0 : this.#revision;
    const watchers = this.#subscribers.size;
    return { ...this.#done, prefix, ...window, revision, watchers };
  }

  async get(key: string, options: Read): ReturnType<Collection["get"]> {
    if (this.#window === undefined && this.#passing < mostPassing) return this.#pass(key, options);
    const window = this.#asNew(options.atLeast) ?? (await this.#fresh(options));
    return { entry: window.entries.get(key), revision: this.#revision };
  }

  /** The store's answer is as new as can be; the cache is for the next ones. */
  async #pass(key: string, options: Read): ReturnType<Collection["get"]> {
    const { backend, root } = this.#options;
    this.#fill().catch(() => undefined);
    this.#passing += 1;
    try {
      const { entry, revision } = await backend.get(root + key, signalOf(options));
      return { entry: entry && cachedEntry(entry, root.length), revision };
    } finally {
      this.#passing -= 1;
    }
  }

  async newest(options: Read): Promise<Snapshot> {
    const { entries } = this.#asNew(options.atLeast) ?? (await this.#fresh(options));
    return cachedSnapshot(entries, this.#revision);
  }

  async at(revision: number, { signal }: { readonly signal?: AbortSignal }): Promise<Snapshot> {
    const { backend, root } = this.#options;
    signal?.throwIfAborted();
    if (this.#window === undefined) this.#fill().catch(() => undefined);
    else if (revision > this.#revision) await this.#fresh({});
    const known = revision >= (backend.oldest ?? 0) && revision <= this.#revision;
    const entries = known ? this.#window?.at(revision) : undefined;
    if (entries !== undefined) return cachedSnapshot(entries, revision);
    return storedSnapshot({ backend, root, revision });
  }

  isKnownEmpty(prefix: string): boolean {
    if (this.#window === undefined || this.#revision < this.#written) return false;
    return this.#window.entries.count(prefix, prefixEnd(prefix)) === 0;
  }

  async filled(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    await (this.#window ?? this.#fill());
    signal?.throwIfAborted();
  }

  changesAfter(revision: number, limit?: number): readonly Change[] {
    assert(this.#window !== undefined, "only a filled cache has changes");
    return this.#window.after(revision, limit);
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
    this.#done.received++;
    if (this.#window === undefined) {
      if (this.#filling !== undefined) this.#held.push(event);
      return;
    }
    this.#apply(this.#window, event);
    if (this.#told || this.#subscribers.size === 0) return;
    this.#told = true;
    this.#options.later(() => {
      this.#told = false;
      if (this.#window === undefined) return;
      this.#done.told += this.#subscribers.size;
      for (const subscriber of this.#subscribers) subscriber.changed();
    });
  }

  onReset(): void {
    this.#window = undefined;
    this.#held = [];
    for (const subscriber of this.#subscribers) subscriber.lost();
  }

  /** What the window shows is the state as of this revision. */
  get #revision(): number {
    return Math.max(this.#filledAt, this.#options.feed.revision);
  }

  #apply(window: WatchCache, event: StoreEvent): void {
    const { length } = this.#options.root;
    if (event.type === "delete") {
      if (event.revision > this.#filledAt) {
        window.apply(event.key.slice(length), event.revision, undefined);
      }
      return;
    }
    const entry = cachedEntry(event.entry, length);
    if (entry.modRevision > this.#filledAt) window.apply(entry.key, entry.modRevision, entry);
  }

  /** The window, if it is known to be as new: neither the store nor anybody else is asked. */
  #asNew(revision: number | undefined): WatchCache | undefined {
    return revision !== undefined && revision <= this.#revision ? this.#window : undefined;
  }

  /** The window, once it shows a state as new as is asked for. */
  async #fresh({ atLeast, signal }: Read): Promise<WatchCache> {
    const { backend } = this.#options;
    for (let attempt = 0; attempt < attempts; attempt++) {
      const window = this.#window ?? (await this.#fill());
      if (this.#asNew(atLeast) === window) return window;
      // A revision that was written here exists: there is nothing to ask.
      const known = atLeast !== undefined && atLeast <= this.#written;
      const wanted = known ? atLeast : await backend.revision();
      signal?.throwIfAborted();
      const reached = wanted <= this.#revision || (await this.#waitedFor(wanted));
      if (reached && window === this.#window) {
        this.#done.consistentReads++;
        return window;
      }
      this.#done.failedReads++;
      signal?.throwIfAborted();
    }
    const message = "the cache began anew again and again";
    throw new StoreFault({ kind: "unavailable", message, maybeApplied: false });
  }

  async #waitedFor(revision: number): Promise<boolean> {
    const started = performance.now();
    try {
      return await this.#options.feed.reached(revision);
    } finally {
      this.#options.waited((performance.now() - started) / 1000);
    }
  }

  #fill(): Promise<WatchCache> {
    this.#filling ??= this.#list().finally(() => {
      this.#filling = undefined;
      this.#held = [];
    });
    return this.#filling;
  }

  async #list(): Promise<WatchCache> {
    const { backend, feed, root, limits } = this.#options;
    for (let attempt = 0; attempt < attempts; attempt++) {
      await feed.running();
      const { generation } = feed;
      this.#held = [];
      const { prefix } = this;
      const entries: (readonly [string, Entry])[] = [];
      let from = prefix;
      let revision = 0;
      for (;;) {
        const page = { from, to: prefixEnd(prefix), limit: fillChunk, revision };
        const found = await backend.range(page);
        if (revision === 0) revision = found.revision;
        for (const raw of found.entries) {
          const entry = cachedEntry(raw, root.length);
          entries.push([entry.key, entry]);
        }
        if (found.entries.length >= found.count) break;
        from = `${found.entries.at(-1)!.key}\0`;
      }
      // The feed began anew: what was held back may have gaps.
      if (feed.generation !== generation) continue;
      const window = new WatchCache(SortedMap.from(entries), revision, limits);
      this.#filledAt = revision;
      for (const event of this.#held) this.#apply(window, event);
      this.#window = window;
      this.#done.fills++;
      return window;
    }
    const message = "the cache could not be filled: the store began anew again and again";
    throw new StoreFault({ kind: "unavailable", message, maybeApplied: false });
  }
}

/** One object for each version, with room for what others make of it. */
function cachedEntry(entry: Entry, root: number): Entry {
  const { createRevision, modRevision, encryption } = entry;
  const key = ownText(entry.key.slice(root));
  const value = ownBytes(entry.value);
  const own = { key, value, createRevision, modRevision, derived: undefined };
  return encryption === undefined ? own : { ...own, encryption };
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
