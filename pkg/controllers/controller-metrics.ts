import type { MetricDefinition } from "#request";
import { batchMetrics } from "./batch/batch-controllers.ts";
import { deletionAgeRatio } from "./apps/replicaset/replica-set-metrics.ts";

/** Metrics of single controllers, with the names of kube-controller-manager. */
export const controllerMetrics: readonly MetricDefinition[] = [deletionAgeRatio, ...batchMetrics];
