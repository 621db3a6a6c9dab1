import type { Clock } from "#base";
import type { Instruments } from "#request";
import type { QueuedPod } from "../framework/contract.ts";

type Observer = (seconds: number) => void;

/** Metrics of a scheduling queue. */
export class QueueMetrics {
  private readonly hints = new Map<string, Observer>();
  /** Labels of gauges that have been set, to reset them to 0. */
  private readonly rejections = new Map<string, readonly [plugin: string, profile: string]>();
  private readonly inFlight = new Set<string>();

  constructor(
    private readonly instruments: Instruments,
    private readonly clock: Clock,
  ) {}

  countIncoming(queue: "active" | "backoff" | "unschedulable", event: string): void {
    this.instruments.add("scheduler_queue_incoming_pods_total", { queue, event }, 1);
  }

  /** Runs a queueing hint of a plugin and observes its duration. */
  timedHint(plugin: string, event: string, hint: () => boolean): boolean {
    const began = this.clock.monotonic();
    const isQueued = hint();
    const seconds = (this.clock.monotonic() - began) / 1_000;
    this.hintObserver(plugin, event, isQueued ? "Queue" : "QueueSkip")(seconds);
    return isQueued;
  }

  setSizes(sizes: Readonly<Record<string, number>>): void {
    for (const [queue, size] of Object.entries(sizes)) {
      this.instruments.set("scheduler_pending_pods", { queue }, size);
    }
  }

  /** Sets the gauges of unschedulable pods, by rejecting plugin. */
  setRejections(pods: Iterable<QueuedPod>): void {
    const counts = new Map([...this.rejections.keys()].map((key) => [key, 0]));
    for (const { info, unschedulablePlugins } of pods) {
      const { schedulerName: profile = "" } = info.pod.spec ?? {};
      for (const plugin of unschedulablePlugins) {
        const key = `${plugin} ${profile}`;
        this.rejections.set(key, [plugin, profile]);
        counts.set(key, (counts.get(key) ?? 0) + 1);
      }
    }
    for (const [key, count] of counts) {
      const [plugin, profile] = this.rejections.get(key)!;
      this.instruments.set("scheduler_unschedulable_pods", { plugin, profile }, count);
    }
  }

  /** Sets the gauges of events recorded for in-flight pods. */
  setInFlight(counts: ReadonlyMap<string, number>): void {
    for (const event of counts.keys()) this.inFlight.add(event);
    for (const event of this.inFlight) {
      this.instruments.set("scheduler_inflight_events", { event }, counts.get(event) ?? 0);
    }
  }

  private hintObserver(plugin: string, event: string, hint: string): Observer {
    const key = `${plugin} ${event} ${hint}`;
    const known = this.hints.get(key);
    if (known !== undefined) return known;
    const metric = "scheduler_queueing_hint_execution_duration_seconds";
    const made = this.instruments.observer(metric, { plugin, event, hint });
    this.hints.set(key, made);
    return made;
  }
}
