import type { Clock } from "#base";

/** A key's time to live is lengthened by at most so long, so that keys can share a lease. */
const reuseSeconds = 60;
const reuseShare = 0.05;
/** Keys on one lease: its end deletes them all in one go. */
const keysPerLease = 1_000;
/** Leases remembered, one per time to live in use. */
const remembered = 64;

interface Shared {
  readonly id: Promise<string>;
  /** Not used for new keys after this moment, in milliseconds. */
  readonly until: number;
  keys: number;
}

/**
 * Leases shared by keys of the same time to live written close together: a lease lives for the
 * time to live plus min(60 s, 5 %) and takes new keys during that addition, so that each key lives
 * at least as long as asked for.
 */
export class Leases {
  readonly #shared = new Map<number, Shared>();
  readonly #grant: (seconds: number) => Promise<string>;
  readonly #clock: Clock;

  /** `grant` makes a lease and answers its id. */
  constructor(grant: (seconds: number) => Promise<string>, clock: Clock) {
    this.#grant = grant;
    this.#clock = clock;
  }

  /** The id of a lease that ends after at least `ttlSeconds`, for one key. */
  async idFor(ttlSeconds: number): Promise<string> {
    const now = this.#clock.monotonic();
    const known = this.#shared.get(ttlSeconds);
    if (known !== undefined && now < known.until && known.keys < keysPerLease) {
      known.keys += 1;
      return known.id;
    }
    const addition = Math.min(reuseSeconds, ttlSeconds * reuseShare);
    const id = this.#grant(Math.ceil(ttlSeconds + addition));
    const shared: Shared = { id, until: now + addition * 1_000, keys: 1 };
    this.#remember(ttlSeconds, shared);
    try {
      return await id;
    } catch (error) {
      if (this.#shared.get(ttlSeconds) === shared) this.#shared.delete(ttlSeconds);
      throw error;
    }
  }

  /** After etcd said that a lease is gone. */
  forgetAll(): void {
    this.#shared.clear();
  }

  #remember(ttlSeconds: number, shared: Shared): void {
    this.#shared.delete(ttlSeconds);
    this.#shared.set(ttlSeconds, shared);
    const [oldest] = this.#shared.keys();
    if (this.#shared.size > remembered && oldest !== undefined) this.#shared.delete(oldest);
  }
}
