import type { Clock } from "#base";
import { quietTurns } from "../base/testing.ts";

interface Sleeper {
  readonly at: number;
  readonly wake: () => void;
}

/** A clock that advances only by `pass`, which runs woken work until idle before advancing further. */
export class SlowClock implements Clock {
  private time = Date.parse("2030-01-01T00:00:00Z");
  private readonly sleepers = new Set<Sleeper>();

  now(): number {
    return this.time;
  }

  nowMicros(): number {
    return this.time * 1000;
  }

  monotonic(): number {
    return this.time;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const leave = () => {
        this.sleepers.delete(sleeper);
        reject(signal?.reason);
      };
      const wake = () => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      const sleeper: Sleeper = { at: this.time + ms, wake };
      this.sleepers.add(sleeper);
      signal?.addEventListener("abort", leave, { once: true });
    });
  }

  async pass(ms: number): Promise<void> {
    const end = this.time + ms;
    await quietTurns(20);
    for (;;) {
      const [next] = [...this.sleepers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
      if (next === undefined) break;
      this.time = Math.max(this.time, next.at);
      this.sleepers.delete(next);
      next.wake();
      await quietTurns(20);
    }
    this.time = end;
  }
}

/** The clock with a skew in wall time, which is evaluated on each call. */
export function skewed(clock: Clock, byMs: () => number): Clock {
  return {
    now: () => clock.now() + byMs(),
    nowMicros: () => clock.nowMicros() + byMs() * 1000,
    monotonic: () => clock.monotonic(),
    sleep: (ms, signal, options) => clock.sleep(ms, signal, options),
  };
}
