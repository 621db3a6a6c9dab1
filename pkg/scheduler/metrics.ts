import type { MetricDefinition } from "#request";

const attemptSeconds = Array.from({ length: 15 }, (_value, at) => 0.001 * 2 ** at);
const pointSeconds = Array.from({ length: 12 }, (_value, at) => 0.0001 * 2 ** at);
const pluginSeconds = Array.from({ length: 20 }, (_value, at) => 0.00001 * 1.5 ** at);
const queueSeconds = Array.from({ length: 20 }, (_value, at) => 0.01 * 2 ** at);

/** Metrics of the scheduler, with the names of kube-scheduler. */
export const schedulerMetrics: readonly MetricDefinition[] = [
  {
    name: "scheduler_schedule_attempts_total",
    kind: "counter",
    help:
      "Number of attempts to schedule pods, by the result: scheduled, unschedulable, or error for " +
      "internal errors.",
    labels: ["profile", "result"],
  },
  {
    name: "scheduler_scheduling_attempt_duration_seconds",
    kind: "histogram",
    help: "Time in seconds that an attempt to schedule a pod takes, with its binding.",
    labels: ["profile", "result"],
    buckets: attemptSeconds,
  },
  {
    name: "scheduler_scheduling_algorithm_duration_seconds",
    kind: "histogram",
    help: "Time in seconds that choosing a node takes.",
    labels: [],
    buckets: attemptSeconds,
  },
  {
    name: "scheduler_pod_scheduling_sli_duration_seconds",
    kind: "histogram",
    help: "Time in seconds from the first attempt to schedule a pod until it is bound.",
    labels: ["attempts"],
    buckets: queueSeconds,
  },
  {
    name: "scheduler_pod_scheduling_attempts",
    kind: "histogram",
    help: "Number of attempts that a pod took to be scheduled.",
    labels: [],
    buckets: [1, 2, 4, 8, 16],
  },
  {
    name: "scheduler_pending_pods",
    kind: "gauge",
    help: "Number of pending pods by queue: active, backoff, unschedulable and gated.",
    labels: ["queue"],
  },
  {
    name: "scheduler_queue_incoming_pods_total",
    kind: "counter",
    help: "Number of pods added to a queue, by the event that added them.",
    labels: ["queue", "event"],
  },
  {
    name: "scheduler_framework_extension_point_duration_seconds",
    kind: "histogram",
    help: "Time in seconds that all plugins of an extension point take.",
    labels: ["extension_point", "profile", "status"],
    buckets: pointSeconds,
  },
  {
    name: "scheduler_plugin_execution_duration_seconds",
    kind: "histogram",
    help: "Time in seconds that a plugin takes at an extension point, of 10 % of the attempts.",
    labels: ["extension_point", "plugin", "status"],
    buckets: pluginSeconds,
  },
  {
    name: "scheduler_plugin_evaluation_total",
    kind: "counter",
    help: "Number of times that a plugin has run at PreFilter, Filter, PreScore and Score.",
    labels: ["extension_point", "plugin", "profile"],
  },
  {
    name: "scheduler_permit_wait_duration_seconds",
    kind: "histogram",
    help: "Time in seconds that a pod waits for its permits.",
    labels: ["result"],
    buckets: attemptSeconds,
  },
  {
    name: "scheduler_volume_scheduling_stage_error_total",
    kind: "counter",
    help: "Number of errors while volumes of pods are found, reserved and bound.",
    labels: ["operation"],
  },
  {
    name: "scheduler_goroutines",
    kind: "gauge",
    help: "Number of concurrent tasks by their work, such as binding.",
    labels: ["operation"],
  },
  {
    name: "scheduler_unschedulable_pods",
    kind: "gauge",
    help: "Number of unschedulable pods by the plugins that rejected them.",
    labels: ["plugin", "profile"],
  },
  {
    name: "scheduler_preemption_attempts_total",
    kind: "counter",
    help: "Number of attempts to preempt pods.",
    labels: [],
  },
  {
    name: "scheduler_preemption_victims",
    kind: "histogram",
    help: "Number of pods that a preemption evicts.",
    labels: [],
    buckets: [1, 2, 4, 8, 16, 32, 64],
  },
  {
    name: "scheduler_cache_size",
    kind: "gauge",
    help: "Number of nodes, pods and assumed pods in the cache of the scheduler.",
    labels: ["type"],
  },
];
