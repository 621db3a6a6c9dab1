import type { Clock } from "#base";

/** What a write needs to know of its namespace. */
export interface NamespaceState {
  readonly terminating: boolean;
}

/** How long a namespace is believed to be as it was last seen. */
const freshMilliseconds = 1000;
const capacity = 10_000;

/**
 * Remembers namespaces that exist, for a second. Absence is never remembered: a namespace that is
 * not known is always looked up in the store, so a creation right after that of its namespace
 * succeeds. A deletion through this process is seen at once (`forget`), one through another replica
 * after at most a second, like the lag of Kubernetes' own namespace cache.
 */
export class NamespaceCache {
  readonly #states = new Map<string, { readonly state: NamespaceState; readonly until: number }>();
  /** Grows with every `forget`, so that a read that was under way then is not remembered. */
  #forgotten = 0;

  constructor(
    private readonly clock: Clock,
    private readonly read: (name: string) => Promise<NamespaceState | undefined>,
  ) {}

  /** At once where it is remembered. */
  find(name: string): NamespaceState | Promise<NamespaceState | undefined> {
    const known = this.#states.get(name);
    if (known !== undefined && known.until > this.clock.monotonic()) return known.state;
    this.#states.delete(name);
    return this.#look(name);
  }

  async #look(name: string): Promise<NamespaceState | undefined> {
    const until = this.clock.monotonic() + freshMilliseconds;
    const before = this.#forgotten;
    const state = await this.read(name);
    if (state === undefined || before !== this.#forgotten) return state;
    if (this.#states.size >= capacity) this.#states.clear();
    this.#states.set(name, { state, until });
    return state;
  }

  /** To be called when a namespace was written. */
  invalidate(name: string): void {
    this.#forgotten += 1;
    this.#states.delete(name);
  }
}
