/** Where time comes from. Passed in wherever time matters, so that tests can turn it. */
export interface Clock {
  /** Wall clock in milliseconds since 1970. */
  now(): number;
  /** Microseconds since 1970, for MicroTime. */
  nowMicros(): number;
  /** Resolves after `ms` milliseconds; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  nowMicros: () => Math.floor((performance.timeOrigin + performance.now()) * 1000),
  sleep: (ms, signal) =>
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
      signal?.addEventListener("abort", onAbort, { once: true });
    }),
};
