import type { MetricDefinition } from "#request";

/** Name and buckets are kube-controller-manager's. */
export const deletionAgeRatio: MetricDefinition = {
  name: "replicaset_controller_sorting_deletion_age_ratio",
  kind: "histogram",
  help:
    "Age of a ready pod that is deleted by a scale-down, relative to that of the youngest ready " +
    "pod of its ReplicaSet; below 2 where the choice by powers of two of the age works.",
  labels: [],
  buckets: [0.25, 0.5, 1, 2, 4, 8],
};
