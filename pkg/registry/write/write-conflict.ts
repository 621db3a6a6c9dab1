import type { Clock } from "#base";
import type { Entry } from "#storage";
import type { Target } from "../contract.ts";
import type { Environment } from "../context.ts";

/**
 * Writers of one object that meet there go on one after another. Without a queue each of n writers
 * would try again after every success of another, about n²/2 attempts for n writes; with one it is
 * about two for each.
 *
 * A queue only saves work: what keeps writers apart is the compare-and-swap, which others are under
 * way to as well, through other replicas or because a turn was over before its attempt.
 */

/** Longest turn in milliseconds. Who takes longer, say for a slow webhook, holds up nobody more. */
const longestTurn = 1000;

export class KeyQueues {
  /** The end of the last turn that was given away, by key; absent where nobody waits. */
  readonly #ends = new Map<string, Promise<void>>();

  constructor(private readonly clock: Clock) {}

  /** Whether writers of the key have met just now. */
  has(key: string): boolean {
    return this.#ends.has(key);
  }

  /**
   * Resolves when those before are done, to a function that ends the turn. Rejects when the signal
   * aborts.
   */
  async join(key: string, signal: AbortSignal): Promise<() => void> {
    const before = this.#ends.get(key) ?? Promise.resolve();
    const over = new AbortController();
    const limited = async (): Promise<void> => {
      await before;
      if (!signal.aborted) await this.clock.sleep(longestTurn, over.signal, { background: true });
    };
    const end = limited()
      // The sleep was cut short.
      .catch(() => undefined)
      .then(() => {
        if (this.#ends.get(key) === end) this.#ends.delete(key);
      });
    this.#ends.set(key, end);
    await orAborted(before, signal);
    return () => over.abort();
  }
}

async function orAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const listening = new AbortController();
  const aborted = new Promise<never>((_resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true, signal: listening.signal });
  });
  await Promise.race([work, aborted]).finally(() => listening.abort());
}

/** Someone else was faster; this stands there now. */
export interface Outdated {
  readonly current: Entry | undefined;
}

export type Attempt<T> = { readonly answer: T } | Outdated;

/**
 * Attempts to change what stands under a key until nobody else is faster, or the target's signal
 * aborts.
 */
export async function untilAnswered<T>(
  { store, queues }: Environment,
  { key, life }: Pick<Target, "life"> & { readonly key: string },
  attempt: (entry: Entry | undefined) => Promise<Attempt<T>>,
): Promise<T> {
  const { signal } = life;
  let leave = queues.has(key) ? await queues.join(key, signal) : undefined;
  try {
    let { entry } = await store.get(key, { signal });
    for (;;) {
      signal.throwIfAborted();
      const outcome = await attempt(entry);
      if ("answer" in outcome) return outcome.answer;
      entry = outcome.current;
      if (leave !== undefined) continue;
      const waits = queues.has(key);
      leave = await queues.join(key, signal);
      if (waits) ({ entry } = await store.get(key, { signal }));
    }
  } finally {
    leave?.();
  }
}
