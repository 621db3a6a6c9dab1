import type { MetricDefinition } from "#request";

/** Metrics of the controller, named as in kube-controller-manager. */
export const ephemeralVolumeMetrics: readonly MetricDefinition[] = [
  {
    name: "ephemeral_volume_controller_create_total",
    kind: "counter",
    help: "PersistentVolumeClaims that were created for ephemeral volumes, or tried to be.",
    labels: [],
  },
  {
    name: "ephemeral_volume_controller_create_failures_total",
    kind: "counter",
    help: "PersistentVolumeClaims that could not be created for ephemeral volumes.",
    labels: [],
  },
];
