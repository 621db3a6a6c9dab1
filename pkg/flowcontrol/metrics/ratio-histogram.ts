import type { RatioGauge } from "../contract.ts";

const nanosecondsPerMs = 1e6;

/**
 * A fraction over time. Each value is observed in a histogram with the nanoseconds for which it held
 * as weight, as if it were observed at every nanosecond.
 */
export class RatioHistogram implements RatioGauge {
  private numerator = 0;
  private denominator = 1;
  private ratio = 0;

  /** @param since `Clock.monotonic()` in ms. */
  constructor(
    private readonly observe: (value: number, weight: number) => void,
    private since: number,
  ) {}

  set(numerator: number, now: number): void {
    this.account(now);
    this.numerator = numerator;
    this.ratio = numerator / this.denominator;
  }

  setDenominator(denominator: number, now: number): void {
    this.account(now);
    this.denominator = denominator;
    this.ratio = this.numerator / denominator;
  }

  /** Observes the current value with the time since the last call as weight. */
  account(now: number): void {
    const elapsed = now - this.since;
    if (elapsed <= 0) return;
    this.since = now;
    this.observe(this.ratio, Math.round(elapsed * nanosecondsPerMs));
  }
}
