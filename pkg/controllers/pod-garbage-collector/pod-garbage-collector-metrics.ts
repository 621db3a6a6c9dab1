import type { MetricDefinition } from "#request";

/** Reason of a deletion; a label value. */
export type DeletionReason = "terminated" | "out-of-service" | "orphaned" | "unscheduled";

/** Metrics of the controller, named and labeled as in kube-controller-manager. */
export const podGarbageCollectorMetrics: readonly MetricDefinition[] = [
  {
    name: "pod_gc_collector_force_delete_pods_total",
    kind: "counter",
    help: "Number of pods that the pod garbage collector deleted or tried to delete.",
    labels: ["namespace", "reason"],
  },
  {
    name: "pod_gc_collector_force_delete_pod_errors_total",
    kind: "counter",
    help: "Number of pods that the pod garbage collector failed to delete.",
    labels: ["namespace", "reason"],
  },
];
