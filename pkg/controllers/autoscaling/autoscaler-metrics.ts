import type { MetricDefinition } from "#request";

const prefix = "horizontal_pod_autoscaler_controller_";
/** Doubling from 1 ms to 16 s. */
const buckets = Array.from({ length: 15 }, (_, power) => 0.001 * 2 ** power);

/** Metrics of the controller, named and labeled as in kube-controller-manager. */
export const autoscalerMetrics: readonly MetricDefinition[] = [
  {
    name: `${prefix}reconciliations_total`,
    kind: "counter",
    help: "Number of autoscaler reconciliations, by action and by error.",
    labels: ["action", "error"],
  },
  {
    name: `${prefix}reconciliation_duration_seconds`,
    kind: "histogram",
    help: "Latency of autoscaler reconciliations in seconds, by action and by error.",
    labels: ["action", "error"],
    buckets,
  },
  {
    name: `${prefix}metric_computation_total`,
    kind: "counter",
    help: "Number of metric computations of autoscalers, by action, error and metric type.",
    labels: ["action", "error", "metric_type"],
  },
  {
    name: `${prefix}metric_computation_duration_seconds`,
    kind: "histogram",
    help: "Latency of computing a metric of an autoscaler in seconds.",
    labels: ["action", "error", "metric_type"],
    buckets,
  },
];
