import { admissionMetrics } from "#admission";
import { featureStages } from "#api";
import { tokenCacheMetrics } from "#authn";
import type { MetricDefinition } from "#request";
import { PrometheusMetrics } from "#server";
import { storageMetrics } from "../storage/storage-metrics.ts";

const featureEnabled: MetricDefinition = {
  name: "kubernetes_feature_enabled",
  kind: "gauge",
  help: "Features by name and stage: 1 = on, 0 = off.",
  labels: ["name", "stage"],
};

/** Stable features have no stage here. */
const shownStages = { alpha: "ALPHA", beta: "BETA", stable: "", deprecated: "DEPRECATED" } as const;

/** The metrics of a server, with everything defined that its parts will tell. */
export function buildMetrics(isOn: (feature: string) => boolean): PrometheusMetrics {
  const metrics = new PrometheusMetrics();
  const { instruments } = metrics;
  const ofParts = [...storageMetrics, ...admissionMetrics, ...tokenCacheMetrics];
  instruments.define([...ofParts, featureEnabled]);
  for (const [name, stage] of featureStages()) {
    const labels = { name, stage: shownStages[stage] };
    instruments.set(featureEnabled.name, labels, isOn(name) ? 1 : 0);
  }
  return metrics;
}
