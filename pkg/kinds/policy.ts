/** PodDisruptionBudgets. */
import type { ApiObject, Handle } from "#client";
import type { LabelSelector } from "#meta";
import type { Condition } from "./core.ts";

export interface PodDisruptionBudgetCondition extends Condition {
  readonly observedGeneration?: number | bigint;
}

export interface PodDisruptionBudgetStatus {
  readonly observedGeneration?: number | bigint;
  readonly disruptionsAllowed?: number;
  readonly currentHealthy?: number;
  readonly desiredHealthy?: number;
  readonly expectedPods?: number;
  /** Time of the eviction by name of the pod. */
  readonly disruptedPods?: Readonly<Record<string, string>>;
  readonly conditions?: readonly PodDisruptionBudgetCondition[];
}

export interface PodDisruptionBudget extends ApiObject {
  readonly spec?: {
    readonly minAvailable?: number | string;
    readonly maxUnavailable?: number | string;
    readonly selector?: LabelSelector;
  };
  readonly status?: PodDisruptionBudgetStatus;
}

export const podDisruptionBudgets: Handle<PodDisruptionBudget> = {
  group: "policy",
  version: "v1",
  plural: "poddisruptionbudgets",
  kind: "PodDisruptionBudget",
  namespaced: true,
};
