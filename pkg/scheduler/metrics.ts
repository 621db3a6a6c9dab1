import type { MetricDefinition } from "#request";

const attemptSeconds = exponential(0.001, 2, 15);
const pointSeconds = exponential(0.0001, 2, 12);
const pluginSeconds = exponential(0.00001, 1.5, 20);
const queueSeconds = exponential(0.01, 2, 20);

/** Metrics of the scheduler; names, labels and buckets are kube-scheduler's. */
export const schedulerMetrics: readonly MetricDefinition[] = [
  metric("counter", "STABLE", "schedule_attempts_total", {
    help:
      "Number of attempts to schedule pods, by result: scheduled, unschedulable, or error for an " +
      "internal error.",
    labels: ["profile", "result"],
  }),
  metric("histogram", "STABLE", "scheduling_attempt_duration_seconds", {
    help: "Latency of scheduling attempts in seconds, from algorithm to binding.",
    labels: ["profile", "result"],
    buckets: attemptSeconds,
  }),
  metric("histogram", "ALPHA", "scheduling_algorithm_duration_seconds", {
    help: "Latency of the scheduling algorithm in seconds.",
    buckets: attemptSeconds,
  }),
  metric("histogram", "BETA", "pod_scheduling_sli_duration_seconds", {
    help: "Latency in seconds from when a pod enters the queue until it is bound.",
    labels: ["attempts"],
    buckets: queueSeconds,
  }),
  metric("histogram", "STABLE", "pod_scheduling_attempts", {
    help: "Number of attempts needed to schedule a pod.",
    buckets: exponential(1, 2, 5),
  }),
  metric("gauge", "STABLE", "pending_pods", {
    help: "Number of pending pods by queue: active, backoff, unschedulable, and gated (not attempted).",
    labels: ["queue"],
  }),
  metric("counter", "STABLE", "queue_incoming_pods_total", {
    help: "Number of pods added to a queue, by the event that added them.",
    labels: ["queue", "event"],
  }),
  metric("histogram", "ALPHA", "event_handling_duration_seconds", {
    help: "Latency of handling a cluster event in seconds.",
    labels: ["event"],
    buckets: pointSeconds,
  }),
  metric("histogram", "ALPHA", "queueing_hint_execution_duration_seconds", {
    help: "Latency of a queueing hint in seconds.",
    labels: ["plugin", "event", "hint"],
    buckets: pluginSeconds,
  }),
  metric("gauge", "ALPHA", "inflight_events", {
    help: "Number of events recorded for pods in flight.",
    labels: ["event"],
  }),
  metric("histogram", "STABLE", "framework_extension_point_duration_seconds", {
    help: "Latency of running all plugins of an extension point in seconds.",
    labels: ["extension_point", "profile", "status"],
    buckets: pointSeconds,
  }),
  metric("histogram", "ALPHA", "plugin_execution_duration_seconds", {
    help: "Latency of running a plugin at an extension point in seconds, for 10 % of the attempts.",
    labels: ["extension_point", "plugin", "status"],
    buckets: pluginSeconds,
  }),
  metric("counter", "ALPHA", "plugin_evaluation_total", {
    help: "Number of plugin evaluations at PreFilter, Filter, PreScore and Score.",
    labels: ["extension_point", "plugin", "profile"],
  }),
  metric("histogram", "ALPHA", "permit_wait_duration_seconds", {
    help: "Time in seconds that a pod waits on Permit plugins.",
    labels: ["result"],
    buckets: attemptSeconds,
  }),
  metric("counter", "ALPHA", "volume_scheduling_stage_error_total", {
    help: "Number of errors while volumes of pods are found, assumed and bound.",
    labels: ["operation"],
  }),
  metric("gauge", "ALPHA", "goroutines", {
    help: "Number of concurrent operations by kind: binding and prioritizing_extender.",
    labels: ["operation"],
  }),
  metric("gauge", "ALPHA", "unschedulable_pods", {
    help: "Number of unschedulable pods by the plugins that rejected them.",
    labels: ["plugin", "profile"],
  }),
  metric("counter", "STABLE", "preemption_attempts_total", {
    help: "Number of attempts to preempt pods.",
  }),
  metric("histogram", "STABLE", "preemption_victims", {
    help: "Number of victims of a preemption.",
    buckets: exponential(1, 2, 7),
  }),
  metric("histogram", "ALPHA", "preemption_goroutines_duration_seconds", {
    help: "Latency of evicting the victims of a preemption in seconds.",
    labels: ["result"],
    buckets: queueSeconds,
  }),
  metric("counter", "ALPHA", "preemption_goroutines_execution_total", {
    help: "Number of preemptions by the result of evicting their victims.",
    labels: ["result"],
  }),
  metric("gauge", "ALPHA", "cache_size", {
    help: "Number of nodes, pods and assumed pods in the cache of the scheduler.",
    labels: ["type"],
  }),
];

interface Description {
  readonly help: string;
  readonly labels?: readonly string[];
  readonly buckets?: readonly number[];
}

/** Defines a metric; the help starts with the stability level, as in Kubernetes. */
function metric(
  kind: MetricDefinition["kind"],
  stability: "ALPHA" | "BETA" | "STABLE",
  name: string,
  { help, labels = [], ...rest }: Description,
): MetricDefinition {
  return { kind, name: `scheduler_${name}`, help: `[${stability}] ${help}`, labels, ...rest };
}

function exponential(first: number, factor: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_value, at) => first * factor ** at);
}
