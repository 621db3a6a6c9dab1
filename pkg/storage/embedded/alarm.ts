import { type Clock, realClock, plannedEnd } from "#base";

/**
 * Timers of real time sleep at most this long at a time: the wall clock may jump, and Node's timers
 * end at 24 days.
 */
const LONGEST_MS = 60_000;

/** Calls back at a time that may be moved. Does not keep the process alive. */
export class Alarm implements Disposable {
  readonly #clock: Clock;
  readonly #ring: () => void;
  readonly #longestMs: number;
  #at: number | undefined;
  #sleeping: AbortController | undefined;

  constructor(clock: Clock, ring: () => void) {
    this.#clock = clock;
    this.#ring = ring;
    this.#longestMs = realClock(clock) === clock ? LONGEST_MS : Infinity;
  }

  /** Rings once at `at` (wall-clock milliseconds), or never. Replaces what was set before. */
  set(at: number | undefined): void {
    if (at === this.#at) return;
    this.#at = at;
    this.#sleeping?.abort(plannedEnd);
    this.#sleeping = undefined;
    if (at === undefined) return;
    this.#sleeping = new AbortController();
    void this.#sleep(at, this.#sleeping.signal);
  }

  [Symbol.dispose](): void {
    this.set(undefined);
  }

  async #sleep(at: number, signal: AbortSignal): Promise<void> {
    for (;;) {
      const left = at - this.#clock.now();
      if (left <= 0) break;
      try {
        await this.#clock.sleep(Math.min(left, this.#longestMs), signal, { background: true });
      } catch {
        return; // set to another time
      }
      if (signal.aborted) return;
    }
    this.#at = undefined;
    this.#sleeping = undefined;
    this.#ring();
  }
}
