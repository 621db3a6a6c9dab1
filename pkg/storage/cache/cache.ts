import { type Clock, systemClock } from "#base";
import type { Backend } from "../backend.ts";
import type { RecentWrites } from "../recent-writes.ts";
import type { CachedState, CacheSnapshot, CollectionStatistics } from "../store.ts";
import { Cacher } from "./cacher.ts";
import { CommitTimes } from "./commit-times.ts";
import { StoreReflector, type ReflectorLimits } from "./store-reflector.ts";
import { PrefixRouter } from "./prefix-router.ts";
import type { WatchCacheLimits } from "./watch-cache.ts";

export interface CacheOptions {
  /** Prefix of every key in the backend, `/registry`. */
  readonly root: string;
  readonly clock?: Clock;
  /** Limits of the changes that one collection retains. Default: 20,000 changes and 32 MiB. */
  readonly watchCache?: Partial<WatchCacheLimits>;
  /** Default: reads wait up to 3 s for the cache, and request progress after 20 ms. */
  readonly reflector?: Partial<ReflectorLimits>;
  /** Initial contents of the caches; absent = each is filled on its first read. */
  readonly initial?: CacheSnapshot | undefined;
  /** Returns the observer of read waits, in seconds, for the collection of a prefix. */
  readonly readWait?: (prefix: string) => (seconds: number) => void;
}

const defaultWatchCache: WatchCacheLimits = { changes: 20_000, bytes: 32 * 2 ** 20 };
const defaultReflector: ReflectorLimits = { waitMs: 3_000, nudgeMs: 20 };

/** The Cachers of a store, each created on first use, and the StoreReflector that feeds them. */
export class Cache {
  readonly #backend: Backend;
  readonly #options: CacheOptions;
  readonly #recentWrites: RecentWrites;
  readonly #reflector: StoreReflector;
  readonly #cachers = new PrefixRouter<Cacher>();
  readonly #commitTimes = new CommitTimes();
  #pending: (() => void)[] = [];

  /** `recentWrites` are writes of this process that the cache may not have received yet. */
  constructor(backend: Backend, options: CacheOptions, recentWrites: RecentWrites) {
    this.#backend = backend;
    this.#options = options;
    this.#recentWrites = recentWrites;
    const limits = { ...defaultReflector, ...options.reflector };
    const { clock = systemClock, initial } = options;
    const handlers = this.#cachers;
    const from = initial?.revision;
    this.#reflector = new StoreReflector({ backend, clock, limits, handlers, from });
    if (initial !== undefined) this.#restore(initial);
  }

  /** Contents of the filled caches; undefined while the watch does not run. */
  snapshot(): CacheSnapshot | undefined {
    if (this.#reflector.generation === 0) return undefined;
    const collections = new Map<string, CachedState>();
    for (const { collection, state } of this.#cachers.values) {
      if (state !== undefined) collections.set(collection, state);
    }
    return { revision: this.#reflector.revision, collections };
  }

  #restore({ collections }: CacheSnapshot): void {
    for (const [prefix, state] of collections) this.collection(prefix).restore(state);
    // If this fails, the next read fills the cache from the store.
    this.#reflector.running().catch(() => undefined);
  }

  collection(prefix: string): Cacher {
    const { root } = this.#options;
    const existing = this.#cachers.get(root + prefix);
    if (existing !== undefined) return existing;
    const cacher = new Cacher({
      backend: this.#backend,
      reflector: this.#reflector,
      root,
      prefix,
      commitTimes: this.#commitTimes,
      recentWrites: this.#recentWrites,
      limits: { ...defaultWatchCache, ...this.#options.watchCache },
      later: (work) => this.#later(work),
      waited: this.#options.readWait?.(prefix) ?? (() => undefined),
    });
    this.#cachers.set(root + prefix, cacher);
    return cacher;
  }

  get statistics(): readonly CollectionStatistics[] {
    return [...this.#cachers.values].map(({ statistics }) => statistics);
  }

  /** The Cacher of a key, if it has been created. */
  holding(key: string): Cacher | undefined {
    return this.#cachers.find(this.#options.root + key);
  }

  /** Defers notifications until all events of a batch are applied. */
  #later(work: () => void): void {
    this.#pending.push(work);
    if (this.#pending.length > 1) return;
    setImmediate(() => {
      for (const notify of this.#pending.splice(0)) notify();
    });
  }
}
