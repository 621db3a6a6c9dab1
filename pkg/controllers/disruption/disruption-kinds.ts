/** PodDisruptionBudgets and owners of pods, as far as the disruption controller knows them. */
import type { ApiObject, Handle } from "#client";
import type { LabelSelector } from "#meta";
import type { Condition } from "../kinds/core.ts";

export interface BudgetCondition extends Condition {
  readonly observedGeneration?: number | bigint;
}

export interface BudgetStatus {
  readonly observedGeneration?: number | bigint;
  readonly disruptionsAllowed?: number;
  readonly currentHealthy?: number;
  readonly desiredHealthy?: number;
  readonly expectedPods?: number;
  /** Time of the eviction by name of the pod. */
  readonly disruptedPods?: Readonly<Record<string, string>>;
  readonly conditions?: readonly BudgetCondition[];
}

export interface Budget extends ApiObject {
  readonly spec?: {
    readonly minAvailable?: number | string;
    readonly maxUnavailable?: number | string;
    readonly selector?: LabelSelector;
  };
  readonly status?: BudgetStatus;
}

/** A workload with a number of replicas. */
export interface Workload extends ApiObject {
  readonly spec?: { readonly replicas?: number };
}

export const budgets: Handle<Budget> = {
  group: "policy",
  version: "v1",
  plural: "poddisruptionbudgets",
  kind: "PodDisruptionBudget",
  namespaced: true,
};

const workload = (group: string, plural: string, kind: string): Handle<Workload> => ({
  group,
  version: "v1",
  plural,
  kind,
  namespaced: true,
});

export const replicationControllers = workload(
  "",
  "replicationcontrollers",
  "ReplicationController",
);
export const replicaSets = workload("apps", "replicasets", "ReplicaSet");
export const deployments = workload("apps", "deployments", "Deployment");
export const statefulSets = workload("apps", "statefulsets", "StatefulSet");
