import { type Clock, systemClock } from "#base";
import type { Backend } from "../backend.ts";
import type { CollectionStatistics } from "../store.ts";
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
  /** Returns the observer of read waits, in seconds, for the collection of a prefix. */
  readonly readWait?: (prefix: string) => (seconds: number) => void;
}

const defaultWatchCache: WatchCacheLimits = { changes: 20_000, bytes: 32 * 2 ** 20 };
const defaultReflector: ReflectorLimits = { waitMs: 3_000, nudgeMs: 20 };

/** The Cachers of a store, each created on first use, and the StoreReflector that feeds them. */
export class Cache {
  readonly #backend: Backend;
  readonly #options: CacheOptions;
  readonly #reflector: StoreReflector;
  readonly #cachers = new PrefixRouter<Cacher>();
  readonly #commitTimes = new CommitTimes();
  #pending: (() => void)[] = [];

  constructor(backend: Backend, options: CacheOptions) {
    this.#backend = backend;
    this.#options = options;
    const limits = { ...defaultReflector, ...options.reflector };
    const { clock = systemClock } = options;
    this.#reflector = new StoreReflector({ backend, clock, limits, handlers: this.#cachers });
  }

  collection(prefix: string): Cacher {
    const { root } = this.#options;
    const known = this.#cachers.get(root + prefix);
    if (known !== undefined) return known;
    const cacher = new Cacher({
      backend: this.#backend,
      reflector: this.#reflector,
      root,
      prefix,
      commitTimes: this.#commitTimes,
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

  /** The Cacher of a key, if its collection was used before. */
  holding(key: string): Cacher | undefined {
    return this.#cachers.find(this.#options.root + key);
  }

  /** Subscribers are notified once for all events that arrived together, after all are applied. */
  #later(work: () => void): void {
    this.#pending.push(work);
    if (this.#pending.length > 1) return;
    setImmediate(() => {
      for (const tell of this.#pending.splice(0)) tell();
    });
  }
}
