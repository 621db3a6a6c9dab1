import { type Clock, setBounded } from "#base";

/** Maximum extension of a key's TTL by sharing a lease, in seconds and as a fraction of the TTL. */
const reuseSeconds = 60;
const reuseShare = 0.05;
/** Maximum number of keys per lease, which are deleted in one transaction when it expires. */
const keysPerLease = 1_000;
/** Maximum number of current leases, one per distinct TTL. */
const maxLeases = 64;

interface SharedLease {
  readonly id: Promise<string>;
  /** Monotonic time in ms after which no more keys are attached. */
  readonly until: number;
  keys: number;
}

/**
 * Leases that are shared by keys with the same TTL. A lease has a TTL of TTL + min(60 s, 5 %), and keys
 * are attached during that extension only, so that no key expires before its TTL.
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

  /** Returns the id of a lease for a key, which expires after at least `ttlSeconds`. */
  async idFor(ttlSeconds: number): Promise<string> {
    const now = this.#clock.monotonic();
    const known = this.#leases.get(ttlSeconds);
    if (known !== undefined && now < known.until && known.keys < keysPerLease) {
      known.keys += 1;
      return known.id;
    }
    const extension = Math.min(reuseSeconds, ttlSeconds * reuseShare);
    const id = this.#grant(Math.ceil(ttlSeconds + extension));
    const lease: SharedLease = { id, until: now + extension * 1_000, keys: 1 };
    setBounded(this.#leases, [ttlSeconds, lease], maxLeases);
    try {
      return await id;
    } catch (error) {
      if (this.#leases.get(ttlSeconds) === lease) this.#leases.delete(ttlSeconds);
      throw error;
    }
  }

  /** Drops all leases; called when etcd reports that one does not exist any more. */
  clear(): void {
    this.#leases.clear();
  }
}
