export interface SleepOptions {
  /** The sleep does not keep the process alive. */
  readonly background?: boolean;
  /**
   * For periodic checks: the time in ms until which waking up would change nothing, if nothing else
   * happens; in the past if it may now. A virtual clock lets such a sleep go on for whole periods of `ms`.
   */
  readonly idleUntil?: () => number;
  /**
   * For heartbeats, of which only the latest counts. A virtual clock does not stop for them: they are late,
   * and the first work where it stops for another reason.
   */
  readonly coalesce?: boolean;
}

/** Source of time, passed in so that tests can control it. */
export interface Clock {
  /** Wall clock in milliseconds since 1970. */
  now(): number;
  /** Microseconds since 1970, for MicroTime. */
  nowMicros(): number;
  /**
   * Milliseconds since some moment of the past, for how long something took or holds: unlike the
   * wall clock it is never set.
   */
  monotonic(): number;
  /** Resolves after `ms` milliseconds; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal, options?: SleepOptions): Promise<void>;
  /** The clock of connections, where that is another one; see `realClock`. */
  readonly real?: Clock;
  /**
   * Records an operation of this process. A virtual clock waits until operations cease before it
   * moves on, and names the most frequent ones if they do not.
   */
  note?(operation: string): void;
  /**
   * Stops virtual time until the returned function is called, for operations that wait for something
   * outside the event loop: a disk, a socket, a timer of the real clock.
   */
  hold?(operation: string): () => void;
}

/**
 * The clock for connections and latencies: request deadlines, watch lifetimes, retries over a network,
 * validity of certificates. It is in real time even if the cluster's time is virtual.
 */
export function realClock(clock: Clock): Clock {
  return clock.real ?? clock;
}

/** Stops virtual time until the work has settled; see `Clock.hold`. */
export function heldDuring<T>(clock: Clock, operation: string, work: () => Promise<T>): Promise<T> {
  const release = clock.hold?.(operation);
  return release === undefined ? work() : work().finally(release);
}

/** Difference in ms between the precise clock and the wall clock above which they are synchronized. */
const maxDriftMs = 100;

/** The sleep of a periodic check in the background that has nothing to do while `isIdle` holds. */
export function idleWhile(isIdle: () => boolean): SleepOptions {
  return { background: true, idleUntil: () => (isIdle() ? Infinity : -Infinity) };
}

export const systemClock: Clock = {
  now: () => Date.now(),
  nowMicros: () => {
    const wall = Date.now();
    const exact = performance.timeOrigin + performance.now();
    // They part when the wall clock is set, or the machine sleeps.
    return Math.floor((Math.abs(wall - exact) < maxDriftMs ? exact : wall) * 1000);
  },
  monotonic: () => performance.now(),
  sleep: (ms, signal, options) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(
        () => {
          signal?.removeEventListener("abort", onAbort);
          resolve();
        },
        Math.max(ms, 0),
      );
      if (options?.background === true) timer.unref();
      signal?.addEventListener("abort", onAbort, { once: true });
    }),
};
