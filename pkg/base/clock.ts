/** Where time comes from. Passed in wherever time matters, so that tests can turn it. */
export interface Clock {
  /** Wall clock in milliseconds since 1970. */
  now(): number;
  /** Microseconds since 1970, for MicroTime. */
  nowMicros(): number;
  /**
   * Resolves after `ms` milliseconds; rejects with the signal's reason when it aborts first. A
   * sleep in the background does not keep the process alive.
   */
  sleep(
    ms: number,
    signal?: AbortSignal,
    options?: { readonly background?: boolean },
  ): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  nowMicros: () => Math.floor((performance.timeOrigin + performance.now()) * 1000),
  sleep: (ms, signal, options) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      }, ms);
      if (options?.background === true) timer.unref();
      signal?.addEventListener("abort", onAbort, { once: true });
    }),
};
