import type { MetricDefinition } from "#request";

/** Why a pod was deleted. */
export type DeletionReason = "terminated" | "out-of-service" | "orphaned" | "unscheduled";

/** Names and labels of kube-controller-manager. */
export const podGarbageCollectorMetrics: readonly MetricDefinition[] = [
  {
    name: "pod_gc_collector_force_delete_pods_total",
    kind: "counter",
    help: "Pods that the pod garbage collector deleted, or tried to.",
    labels: ["namespace", "reason"],
  },
  {
    name: "pod_gc_collector_force_delete_pod_errors_total",
    kind: "counter",
    help: "Pods that the pod garbage collector failed to delete.",
    labels: ["namespace", "reason"],
  },
];
