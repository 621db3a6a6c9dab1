import { type Clock, setBounded } from "#base";

/** Upper bound of what sharing a lease adds to a key's TTL, in seconds and as a share of it. */
const reuseSeconds = 60;
const reuseShare = 0.05;
/** A lease that expires deletes all its keys in one transaction. */
const keysPerLease = 1_000;
/** One current lease per distinct TTL. */
const mostLeases = 64;

interface SharedLease {
  readonly id: Promise<string>;
  /** Monotonic time in ms after which the lease takes no more keys. */
  readonly until: number;
  keys: number;
}

/**
 * Leases shared by keys with the same TTL that are written close together. A lease lives for
 * TTL + min(60 s, 5 %) and takes new keys during that addition, so a key never expires before its
 * TTL.
 */
export class LeasePool {
  readonly #leases = new Map<number, SharedLease>();
  readonly #grant: (seconds: number) => Promise<string>;
  readonly #clock: Clock;

  /** `grant` creates a lease and returns its id. */
  constructor(grant: (seconds: number) => Promise<string>, clock: Clock) {
    this.#grant = grant;
    this.#clock = clock;
  }

  /** The id of a lease for one key that expires after at least `ttlSeconds`. */
  async idFor(ttlSeconds: number): Promise<string> {
    const now = this.#clock.monotonic();
    const known = this.#leases.get(ttlSeconds);
    if (known !== undefined && now < known.until && known.keys < keysPerLease) {
      known.keys += 1;
      return known.id;
    }
    const addition = Math.min(reuseSeconds, ttlSeconds * reuseShare);
    const id = this.#grant(Math.ceil(ttlSeconds + addition));
    const lease: SharedLease = { id, until: now + addition * 1_000, keys: 1 };
    setBounded(this.#leases, [ttlSeconds, lease], mostLeases);
    try {
      return await id;
    } catch (error) {
      if (this.#leases.get(ttlSeconds) === lease) this.#leases.delete(ttlSeconds);
      throw error;
    }
  }

  /** Called when etcd reports that a lease is gone: new keys get new leases. */
  clear(): void {
    this.#leases.clear();
  }
}
