import type { Clock } from "#base";

/** The state of a namespace that admission checks. */
export interface NamespaceState {
  readonly terminating: boolean;
}

/** Time to live of an entry in ms. */
const ttlMs = 1000;
const capacity = 10_000;

/**
 * Caches existing namespaces for a second. Absence is not cached: an unknown namespace is read from
 * the store, so that a create right after that of its namespace succeeds. A deletion by this process
 * takes effect immediately (`invalidate`), one by another replica after at most a second, like the lag of
 * the namespace informer in kube-apiserver.
 */
export class NamespaceCache {
  readonly #states = new Map<string, { readonly state: NamespaceState; readonly until: number }>();
  /** Number of calls of `invalidate`: a read during which it changes is not cached. */
  #invalidations = 0;

  constructor(
    private readonly clock: Clock,
    private readonly read: (name: string) => Promise<NamespaceState | undefined>,
  ) {}

  /** The state of a namespace, without a promise if it is cached; undefined if it does not exist. */
  find(name: string): NamespaceState | Promise<NamespaceState | undefined> {
    const known = this.#states.get(name);
    if (known !== undefined && known.until > this.clock.monotonic()) return known.state;
    this.#states.delete(name);
    return this.#read(name);
  }

  async #read(name: string): Promise<NamespaceState | undefined> {
    const until = this.clock.monotonic() + ttlMs;
    const before = this.#invalidations;
    const state = await this.read(name);
    if (state === undefined || before !== this.#invalidations) return state;
    if (this.#states.size >= capacity) this.#states.clear();
    this.#states.set(name, { state, until });
    return state;
  }

  /** Evicts a namespace; to be called after a write to it. */
  invalidate(name: string): void {
    this.#invalidations += 1;
    this.#states.delete(name);
  }
}
