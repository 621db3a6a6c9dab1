import { seatsTimesDuration } from "./seat-seconds.ts";

/** Value of R that starts a new epoch, half of the range of exact integers. */
const maxR = 2 ** 52;
export const epochWork = 2 ** 51;

/**
 * The progress meter R of fair queuing, in units of seat-seconds.ts: the work that each active queue
 * has been allotted so far.
 */
export class ProgressMeter {
  current = 0;

  /** @param since `Clock.monotonic()` in ms. */
  constructor(private since: number) {}

  /**
   * Adds the time since the last call, during which each active queue was allotted `seats` seats.
   * @returns whether a new epoch began: the caller must lower earlier values of R by `epochWork`.
   */
  advance(now: number, seats: number): boolean {
    const elapsed = now - this.since;
    this.since = now;
    if (seats === 0 || elapsed <= 0) return false;
    this.current += seatsTimesDuration(seats, elapsed);
    if (this.current < maxR) return false;
    this.current -= epochWork;
    return true;
  }
}
