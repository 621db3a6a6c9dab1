import { type Clock, systemClock } from "#base";
import type { Backend } from "../backend.ts";
import type { CollectionFigures } from "../store.ts";
import { Cacher } from "./cacher.ts";
import { StoreReflector, type ReflectorLimits } from "./store-reflector.ts";
import type { WatchCacheLimits } from "./watch-cache.ts";

export interface CacheOptions {
  /** Stands before every key in the backend. */
  readonly root: string;
  readonly clock?: Clock;
  /** Of one collection's past. Default: 20,000 changes and 32 MiB. */
  readonly window?: Partial<WatchCacheLimits>;
  /** Default: readers wait up to 3 s, and ask for progress after 20 ms. */
  readonly feed?: Partial<ReflectorLimits>;
  /** Makes what hears how many seconds each read waited for the collection of a prefix. */
  readonly readWait?: (prefix: string) => (seconds: number) => void;
}

const defaultWindow: WatchCacheLimits = { changes: 20_000, bytes: 32 * 2 ** 20 };
const defaultFeed: ReflectorLimits = { waitMs: 3_000, nudgeMs: 20 };

/** The collections of a store, each made when it is first asked for, and the feed of all. */
export class Cache {
  readonly #backend: Backend;
  readonly #options: CacheOptions;
  readonly #feed: StoreReflector;
  readonly #collections = new Map<string, Cacher>();
  /** Slashes in the longest prefix. */
  #depth = 0;
  #pending: (() => void)[] = [];

  constructor(backend: Backend, options: CacheOptions) {
    this.#backend = backend;
    this.#options = options;
    const limits = { ...defaultFeed, ...options.feed };
    this.#feed = new StoreReflector(backend, options.clock ?? systemClock, limits);
  }

  collection(prefix: string): Cacher {
    const known = this.#collections.get(prefix);
    if (known !== undefined) return known;
    const made = new Cacher({
      backend: this.#backend,
      feed: this.#feed,
      root: this.#options.root,
      prefix,
      limits: { ...defaultWindow, ...this.#options.window },
      later: (work) => this.#later(work),
      waited: this.#options.readWait?.(prefix) ?? (() => undefined),
    });
    this.#collections.set(prefix, made);
    this.#depth = Math.max(this.#depth, prefix.split("/").length - 1);
    return made;
  }

  get figures(): readonly CollectionFigures[] {
    return [...this.#collections.values()].map(({ figures }) => figures);
  }

  /** The collection that has the key, if somebody has asked for it yet. */
  holding(key: string): Cacher | undefined {
    let slash = 0;
    for (let depth = 1; depth < this.#depth; depth++) {
      slash = key.indexOf("/", slash + 1);
      if (slash < 0) return undefined;
      const found = this.#collections.get(key.slice(0, slash + 1));
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /**
   * Watchers are told when the events that came in together have all been taken in, once for all
   * of them.
   */
  #later(work: () => void): void {
    this.#pending.push(work);
    if (this.#pending.length > 1) return;
    setImmediate(() => {
      for (const tell of this.#pending.splice(0)) tell();
    });
  }
}
