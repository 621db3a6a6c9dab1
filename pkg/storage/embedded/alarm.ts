import { type Clock, realClock, plannedEnd } from "#base";

/** Maximum sleep in real time, as the wall clock may jump and Node's timers are limited to 24 days. */
const maxSleepMs = 60_000;

/** A timer for a wall-clock time that can be changed. Does not keep the process alive. */
export class Alarm implements Disposable {
  readonly #clock: Clock;
  readonly #ring: () => void;
  readonly #longestMs: number;
  #at: number | undefined;
  #sleeping: AbortController | undefined;

  constructor(clock: Clock, ring: () => void) {
    this.#clock = clock;
    this.#ring = ring;
    this.#longestMs = realClock(clock) === clock ? maxSleepMs : Infinity;
  }

  /** Sets the time in ms since 1970 at which to call back once; undefined = never. */
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
        return; // the time was changed
      }
      if (signal.aborted) return;
    }
    this.#at = undefined;
    this.#sleeping = undefined;
    this.#ring();
  }
}
