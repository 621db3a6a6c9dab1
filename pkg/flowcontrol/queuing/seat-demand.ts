import type { SeatAdjustment } from "../contract.ts";

/** Decay of the smoothed demand per 10 s period, as in Kubernetes; the half-life is 5 minutes. */
const smoothingCoefficient = 0.977;

/** Statistics of one adjustment period. */
export type SeatDemand = Omit<SeatAdjustment, "target" | "currentLimit">;

/** Integrates the seat demand of a priority level over time: seats in use and requested in queues. */
export class SeatDemandIntegrator {
  private seats = 0;
  private highest = 0;
  private seconds = 0;
  private integral = 0;
  private integralOfSquares = 0;
  private smoothed = 0;

  /** @param since `Clock.monotonic()` in ms. */
  constructor(private since: number) {}

  set(seats: number, now: number): void {
    if (now > this.since) this.integrate(now);
    this.seats = seats;
    if (seats > this.highest) this.highest = seats;
  }

  /** Ends the period and returns its statistics; the smoothed demand carries over to the next. */
  endPeriod(now: number): SeatDemand {
    this.integrate(now);
    const statistics = this.statistics();
    this.smoothed = statistics.smoothed;
    this.highest = this.seats;
    this.seconds = 0;
    this.integral = 0;
    this.integralOfSquares = 0;
    return statistics;
  }

  private integrate(now: number): void {
    const seconds = (now - this.since) / 1000;
    this.since = now;
    this.seconds += seconds;
    this.integral += this.seats * seconds;
    this.integralOfSquares += this.seats * this.seats * seconds;
  }

  /** The smoothed demand rises to the envelope (average plus deviation) at once and decays slowly. */
  private statistics(): SeatDemand {
    const { highest: highWatermark, seconds, smoothed: before } = this;
    if (seconds <= 0) {
      return { highWatermark, average: this.seats, deviation: 0, smoothed: before };
    }
    const average = this.integral / seconds;
    const variance = this.integralOfSquares / seconds - average * average;
    const deviation = Math.sqrt(Math.max(0, variance));
    const envelope = average + deviation;
    const decayed = smoothingCoefficient * before + (1 - smoothingCoefficient) * envelope;
    return { highWatermark, average, deviation, smoothed: Math.max(envelope, decayed) };
  }
}
