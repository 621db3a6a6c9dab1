import { admissionMetrics } from "#admission";
import { aggregatorMetrics } from "#aggregator";
import { featureStages } from "#api";
import { tokenCacheMetrics } from "#authn";
import { clientMetrics } from "#client";
import type { MetricDefinition } from "#request";
import { PrometheusMetrics } from "#server";
import { reloadMetrics } from "../files/reload-metrics.ts";
import { storageMetrics } from "../storage/storage-metrics.ts";

const featureEnabled: MetricDefinition = {
  name: "kubernetes_feature_enabled",
  kind: "gauge",
  help: "State of each feature gate, by name and stage: 1 = enabled, 0 = disabled.",
  labels: ["name", "stage"],
};

/** Values of the `stage` label; as in Kubernetes it is empty for stable features. */
const shownStages = { alpha: "ALPHA", beta: "BETA", stable: "", deprecated: "DEPRECATED" } as const;

/** The metrics of an API server, with the definitions of all of its components. */
export function buildMetrics(isOn: (feature: string) => boolean): PrometheusMetrics {
  const metrics = new PrometheusMetrics();
  const { instruments } = metrics;
  const ofParts = [
    ...clientMetrics,
    ...storageMetrics,
    ...admissionMetrics,
    ...tokenCacheMetrics,
    ...aggregatorMetrics,
    ...reloadMetrics,
  ];
  instruments.define([...ofParts, featureEnabled]);
  instruments.beforeRead(() => {
    for (const [name, stage] of featureStages()) {
      const labels = { name, stage: shownStages[stage] };
      instruments.set(featureEnabled.name, labels, isOn(name) ? 1 : 0);
    }
  });
  return metrics;
}
