import type { Instruments, MetricLabels } from "#request";
import type { FlowMetrics, RejectionReason } from "../contract.ts";
import { flowControlMetrics as metrics } from "./definitions.ts";

/** Metrics of one FlowSchema at one level: plain numbers, published on each scrape. */
export class FlowRecorder implements FlowMetrics {
  readonly queueLength: (requests: number) => void;
  readonly estimatedSeats: (seats: number) => void;
  private readonly waits: Readonly<Record<"true" | "false", (seconds: number) => void>>;
  private readonly executions: Readonly<Record<"regular" | "watch", (seconds: number) => void>>;
  private queuedRequests = 0;
  private queuedSeats = 0;
  private executingRequests = 0;
  private executingSeats = 0;
  /** Counts since the last scrape, as are the next two. */
  private dispatches = 0;
  private failedDispatches = 0;
  private readonly rejections = new Map<RejectionReason, number>();

  constructor(
    private readonly instruments: Instruments,
    private readonly labels: MetricLabels,
  ) {
    const waited = (execute: string) =>
      instruments.observer(metrics.waitSeconds.name, { ...labels, execute });
    const executed = (type: string) =>
      instruments.observer(metrics.executionSeconds.name, { ...labels, type });
    this.queueLength = instruments.observer(metrics.queueLength.name, labels);
    this.estimatedSeats = instruments.observer(metrics.estimatedSeats.name, labels);
    this.waits = { true: waited("true"), false: waited("false") };
    this.executions = { regular: executed("regular"), watch: executed("watch") };
  }

  rejected(reason: RejectionReason): void {
    this.rejections.set(reason, (this.rejections.get(reason) ?? 0) + 1);
  }

  dispatched(): void {
    this.dispatches++;
  }

  addQueued(requests: number, seats: number): void {
    this.queuedRequests += requests;
    this.queuedSeats += seats;
  }

  addExecuting(requests: number, seats: number): void {
    this.executingRequests += requests;
    this.executingSeats += seats;
  }

  waited(seconds: number, execute: boolean): void {
    if (execute) this.waits.true(seconds);
    else this.waits.false(seconds);
  }

  executed(seconds: number, type: "regular" | "watch"): void {
    if (type === "watch") this.executions.watch(seconds);
    else this.executions.regular(seconds);
  }

  notAccommodated(): void {
    this.failedDispatches++;
  }

  publish(): void {
    const { instruments, labels } = this;
    if (this.dispatches > 0) instruments.add(metrics.dispatched.name, labels, this.dispatches);
    this.dispatches = 0;
    for (const [reason, count] of this.rejections) {
      instruments.add(metrics.rejected.name, { ...labels, reason }, count);
    }
    this.rejections.clear();
    const failed = this.failedDispatches;
    if (failed > 0) instruments.add(metrics.notAccommodated.name, labels, failed);
    this.failedDispatches = 0;
    instruments.set(metrics.queuedRequests.name, labels, this.queuedRequests);
    instruments.set(metrics.queuedSeats.name, labels, this.queuedSeats);
    instruments.set(metrics.executingRequests.name, labels, this.executingRequests);
    instruments.set(metrics.executingSeats.name, labels, this.executingSeats);
  }
}
