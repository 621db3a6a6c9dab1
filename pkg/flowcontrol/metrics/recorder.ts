import type { Clock } from "#base";
import type { Instruments, MetricDefinition, MetricLabels } from "#request";
import type {
  ConcurrencyLimits,
  DispatchMetrics,
  DispatchProgress,
  PriorityLevelMetrics,
  RatioGauge,
  RequestKind,
  SeatAdjustment,
} from "../contract.ts";
import { flowControlMetrics as metrics } from "./definitions.ts";
import { FlowRecorder } from "./flow-recorder.ts";
import { RatioHistogram } from "./ratio-histogram.ts";

type Phase = "waiting" | "executing";

/** Records the metrics of flow control in instruments where `flowControlMetrics` are defined. */
export class FlowControlMetrics implements DispatchMetrics {
  private readonly levels = new Map<string, PriorityLevelRecorder>();
  private readonly ratios: RatioHistogram[] = [];

  constructor(
    private readonly instruments: Instruments,
    private readonly clock: Clock,
  ) {
    instruments.beforeRead(() => this.publish());
  }

  level(name: string): PriorityLevelMetrics {
    const known = this.levels.get(name);
    if (known !== undefined) return known;
    const ratio = (metric: MetricDefinition, labels: MetricLabels) => this.ratio(metric, labels);
    const made = new PriorityLevelRecorder(name, this.instruments, ratio);
    this.levels.set(name, made);
    return made;
  }

  currentRequests(phase: Phase, kind: RequestKind): RatioGauge {
    return this.ratio(metrics.currentRequests, { phase, request_kind: kind });
  }

  fairFraction(fraction: number): void {
    this.instruments.set(metrics.fairFraction.name, {}, fraction);
  }

  watchCount(level: string, flowSchema: string, watchers: number): void {
    const labels = { priority_level: level, flow_schema: flowSchema };
    this.instruments.observe(metrics.watchCount.name, labels, watchers);
  }

  private ratio({ name }: MetricDefinition, labels: MetricLabels): RatioGauge {
    const observe = this.instruments.observer(name, labels);
    const made = new RatioHistogram(observe, this.clock.monotonic());
    this.ratios.push(made);
    return made;
  }

  private publish(): void {
    const now = this.clock.monotonic();
    for (const ratio of this.ratios) ratio.account(now);
    for (const level of this.levels.values()) level.publish();
  }
}

class PriorityLevelRecorder implements PriorityLevelMetrics {
  readonly executingSeats: RatioGauge;
  readonly waitingRequests: RatioGauge;
  readonly executingRequests: RatioGauge;
  readonly seatDemand: RatioGauge;
  private readonly labels: MetricLabels;
  private readonly flows = new Map<string, FlowRecorder>();
  private progress: (() => DispatchProgress) | undefined;

  constructor(
    name: string,
    private readonly instruments: Instruments,
    ratio: (metric: MetricDefinition, labels: MetricLabels) => RatioGauge,
  ) {
    const labels = { priority_level: name };
    const inPhase = (phase: Phase) => ({ ...labels, phase });
    this.labels = labels;
    this.executingSeats = ratio(metrics.seatUtilization, inPhase("executing"));
    this.waitingRequests = ratio(metrics.requestUtilization, inPhase("waiting"));
    this.executingRequests = ratio(metrics.requestUtilization, inPhase("executing"));
    this.seatDemand = ratio(metrics.demand, labels);
  }

  flow(flowSchema: string): FlowRecorder {
    const known = this.flows.get(flowSchema);
    if (known !== undefined) return known;
    const made = new FlowRecorder(this.instruments, { ...this.labels, flow_schema: flowSchema });
    this.flows.set(flowSchema, made);
    return made;
  }

  limits({ nominal, lower, upper }: ConcurrencyLimits): void {
    this.set(metrics.nominalLimit, nominal);
    this.set(metrics.lowerLimit, lower);
    this.set(metrics.upperLimit, upper);
  }

  adjusted(adjustment: SeatAdjustment): void {
    this.set(metrics.demandHighWatermark, adjustment.highWatermark);
    this.set(metrics.demandAverage, adjustment.average);
    this.set(metrics.demandDeviation, adjustment.deviation);
    this.set(metrics.demandSmoothed, adjustment.smoothed);
    this.set(metrics.target, adjustment.target);
    this.set(metrics.currentLimit, adjustment.currentLimit);
  }

  epochAdvanced(success: boolean): void {
    const labels = { ...this.labels, success: String(success) };
    this.instruments.add(metrics.epochAdvances.name, labels, 1);
  }

  observeProgress(progress: () => DispatchProgress): void {
    this.progress = progress;
  }

  publish(): void {
    for (const flow of this.flows.values()) flow.publish();
    if (this.progress === undefined) return;
    const { currentR, dispatchR, latestS, nextS, nextDiscountedS } = this.progress();
    this.set(metrics.currentR, currentR);
    this.set(metrics.dispatchR, dispatchR);
    this.set(metrics.latestS, latestS);
    this.setBounds(metrics.nextS, nextS);
    this.setBounds(metrics.nextDiscountedS, nextDiscountedS);
  }

  private setBounds(metric: MetricDefinition, bounds: DispatchProgress["nextS"]): void {
    if (bounds === undefined) return;
    const [min, max] = bounds;
    this.set(metric, min, { bound: "min" });
    this.set(metric, max, { bound: "max" });
  }

  private set({ name }: MetricDefinition, value: number, labels: MetricLabels = {}): void {
    this.instruments.set(name, { ...this.labels, ...labels }, value);
  }
}
