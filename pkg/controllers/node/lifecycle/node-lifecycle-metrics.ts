import type { MetricDefinition } from "#request";

const powers = (first: number) => Array.from({ length: 8 }, (_, index) => first * 4 ** index);

/** Metrics of the controller, named as in kube-controller-manager. */
export const nodeLifecycleMetrics: readonly MetricDefinition[] = [
  {
    name: "node_collector_zone_health",
    kind: "gauge",
    help: "Percentage of ready nodes, by zone.",
    labels: ["zone"],
  },
  {
    name: "node_collector_zone_size",
    kind: "gauge",
    help: "Number of nodes, by zone.",
    labels: ["zone"],
  },
  {
    name: "node_collector_unhealthy_nodes_in_zone",
    kind: "gauge",
    help: "Number of nodes that are not ready, by zone.",
    labels: ["zone"],
  },
  {
    name: "node_collector_evictions_total",
    kind: "counter",
    help: "Number of nodes that got a NoExecute taint since the start of the controller, by zone.",
    labels: ["zone"],
  },
  {
    name: "node_collector_update_node_health_duration_seconds",
    kind: "histogram",
    help: "Duration in seconds of the health check of one node.",
    labels: [],
    buckets: powers(0.001),
  },
  {
    name: "node_collector_update_all_nodes_health_duration_seconds",
    kind: "histogram",
    help: "Duration in seconds of the health check of all nodes.",
    labels: [],
    buckets: powers(0.01),
  },
];
