import type { DispatchMetrics, RatioGauge, RequestKind } from "../contract.ts";

/** A number of requests and its gauge. */
class RequestCount {
  private value = 0;

  constructor(private readonly gauge: RatioGauge) {}

  add(requests: 1 | -1, now: number): void {
    this.value += requests;
    this.gauge.set(this.value, now);
  }
}

type Counts = Readonly<Record<RequestKind, RequestCount>>;

/** Numbers of waiting and executing requests over all priority levels, read-only and mutating. */
export class CurrentRequests {
  readonly waiting: Counts;
  readonly executing: Counts;
  private readonly gauges: Readonly<Record<"waiting" | "executing", readonly RatioGauge[]>>;

  constructor(metrics: DispatchMetrics) {
    const gaugesOf = (phase: "waiting" | "executing") =>
      (["readOnly", "mutating"] as const).map((kind) => metrics.currentRequests(phase, kind));
    this.gauges = { waiting: gaugesOf("waiting"), executing: gaugesOf("executing") };
    this.waiting = countsOf(this.gauges.waiting);
    this.executing = countsOf(this.gauges.executing);
  }

  /** Sets the denominators: total queue capacity, and the sum of nominal limits. */
  setLimits(limits: Readonly<Record<"waiting" | "executing", number>>, now: number): void {
    for (const phase of ["waiting", "executing"] as const) {
      for (const gauge of this.gauges[phase]) {
        gauge.setDenominator(Math.max(1, limits[phase]), now);
      }
    }
  }
}

function countsOf(gauges: readonly RatioGauge[]): Counts {
  const [readOnly, mutating] = gauges.map((gauge) => new RequestCount(gauge));
  return { readOnly: readOnly as RequestCount, mutating: mutating as RequestCount };
}
