import type { Clock } from "../clock.ts";
import { plannedEnd } from "./planned-end.ts";

/** A limit on how long one holder keeps a key; without it a holder keeps it until it releases. */
export interface HoldLimit {
  readonly clock: Clock;
  readonly milliseconds: number;
}

/** One mutex per key. Waiters of a key acquire it in the order in which they asked. */
export class KeyedMutex {
  /** Settles when the last waiter of the key has released it; absent for free keys. */
  readonly #tails = new Map<string, Promise<void>>();

  constructor(private readonly limit?: HoldLimit) {}

  /** Whether the key is held at this moment. */
  isLocked(key: string): boolean {
    return this.#tails.has(key);
  }

  /**
   * Resolves to the function that releases the key, once all earlier holders have released it or
   * reached the hold limit. Rejects with the signal's reason when the signal aborts; the holders
   * after the waiter that gave up keep their order.
   */
  async acquire(key: string, signal?: AbortSignal): Promise<() => void> {
    const previous = this.#tails.get(key) ?? Promise.resolve();
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const tail = previous
      .then(() => (signal?.aborted === true ? undefined : this.#released(released)))
      .then(() => {
        if (this.#tails.get(key) === tail) this.#tails.delete(key);
      });
    this.#tails.set(key, tail);
    await (signal === undefined ? previous : orAborted(previous, signal));
    return release;
  }

  /** Runs the work while it holds the key. */
  async runExclusive<T>(key: string, work: () => Promise<T>): Promise<T> {
    const release = await this.acquire(key);
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** Resolves when the holder has released the key, or at the hold limit. */
  async #released(released: Promise<void>): Promise<void> {
    if (this.limit === undefined) return released;
    const { clock, milliseconds } = this.limit;
    const timer = new AbortController();
    const expired = clock.sleep(milliseconds, timer.signal, { background: true });
    await Promise.race([released, expired]).finally(() => timer.abort(plannedEnd));
  }
}

async function orAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const listening = new AbortController();
  const aborted = new Promise<never>((_resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true, signal: listening.signal });
  });
  await Promise.race([work, aborted]).finally(() => listening.abort(plannedEnd));
}
