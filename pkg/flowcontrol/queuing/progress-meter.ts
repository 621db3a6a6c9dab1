import { seatsTimesDuration } from "./seat-seconds.ts";

/** Above this reading the meter is turned back, long before integers lose precision. */
const highR = 2 ** 52;
export const epochWork = 2 ** 51;

/**
 * The progress meter R of fair queuing: seat-seconds that each active queue has been allotted since
 * the start, in units of seat-seconds.ts.
 */
export class ProgressMeter {
  current = 0;

  /** @param since `Clock.monotonic()` in ms. */
  constructor(private since: number) {}

  /**
   * Accounts for the time since the last call, during which each active queue got `seats` seats.
   *
   * @returns whether a new epoch began: all readings taken before are to be lowered by `epochWork`.
   */
  advance(now: number, seats: number): boolean {
    const elapsed = now - this.since;
    this.since = now;
    if (seats === 0 || elapsed <= 0) return false;
    this.current += seatsTimesDuration(seats, elapsed);
    if (this.current < highR) return false;
    this.current -= epochWork;
    return true;
  }
}
