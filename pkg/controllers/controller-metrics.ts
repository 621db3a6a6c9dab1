import type { MetricDefinition } from "#request";
import { networkMetrics } from "./network/network-controllers.ts";
import { batchMetrics } from "./batch/batch-controllers.ts";
import { autoscalerMetrics } from "./autoscaling/autoscaler-metrics.ts";
import { nodeMetrics } from "./node/node-controllers.ts";
import { resourceMetrics } from "./resource/resource-controllers.ts";
import { podGarbageCollectorMetrics } from "./pod-garbage-collector/pod-garbage-collector-metrics.ts";
import { ephemeralVolumeMetrics } from "./volume/ephemeral-volume-metrics.ts";
import { deletionAgeRatio } from "./apps/replicaset/replica-set-metrics.ts";

/** Metrics of all controllers, named as in kube-controller-manager. */
export const controllerMetrics: readonly MetricDefinition[] = [
  deletionAgeRatio,
  ...batchMetrics,
  ...networkMetrics,
  ...nodeMetrics,
  ...resourceMetrics,
  ...autoscalerMetrics,
  ...podGarbageCollectorMetrics,
  ...ephemeralVolumeMetrics,
];
