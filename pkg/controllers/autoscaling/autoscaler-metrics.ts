import type { MetricDefinition } from "#request";

const prefix = "horizontal_pod_autoscaler_controller_";
/** Doubling from 1 ms to 16 s. */
const buckets = Array.from({ length: 15 }, (_, power) => 0.001 * 2 ** power);

/** Named and labeled as in kube-controller-manager. */
export const autoscalerMetrics: readonly MetricDefinition[] = [
  {
    name: `${prefix}reconciliations_total`,
    kind: "counter",
    help: "Looks at autoscalers by what they did, and by the kind of their error.",
    labels: ["action", "error"],
  },
  {
    name: `${prefix}reconciliation_duration_seconds`,
    kind: "histogram",
    help: "Durations of looks at autoscalers by what they did, and by the kind of their error.",
    labels: ["action", "error"],
    buckets,
  },
  {
    name: `${prefix}metric_computation_total`,
    kind: "counter",
    help: "Metrics of autoscalers that were computed, by the direction that they asked for.",
    labels: ["action", "error", "metric_type"],
  },
  {
    name: `${prefix}metric_computation_duration_seconds`,
    kind: "histogram",
    help: "Durations of computing a metric of an autoscaler.",
    labels: ["action", "error", "metric_type"],
    buckets,
  },
];
