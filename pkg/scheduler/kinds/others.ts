/** Namespaces, budgets and workloads, as far as the scheduler reads them. */
import type { ApiObject, Handle } from "#client";
import type { LabelSelector } from "#meta";
import type { Labels } from "./pod.ts";

export interface PodDisruptionBudget extends ApiObject {
  readonly spec?: { readonly selector?: LabelSelector };
  readonly status?: {
    readonly disruptionsAllowed?: number;
    readonly disruptedPods?: Readonly<Record<string, string>>;
  };
}

/** Services and ReplicationControllers select pods by labels alone. */
export interface LabelSelected extends ApiObject {
  readonly spec?: { readonly selector?: Labels };
}

/** ReplicaSets and StatefulSets. */
export interface SelectorSelected extends ApiObject {
  readonly spec?: { readonly selector?: LabelSelector };
}

function handle<T extends ApiObject>(
  group: string,
  plural: string,
  kind: string,
  namespaced = true,
): Handle<T> {
  return { group, version: "v1", plural, kind, namespaced };
}

export const namespaces = handle("", "namespaces", "Namespace", false);
export const services = handle<LabelSelected>("", "services", "Service");
export const replicationControllers = handle<LabelSelected>(
  "",
  "replicationcontrollers",
  "ReplicationController",
);
export const replicaSets = handle<SelectorSelected>("apps", "replicasets", "ReplicaSet");
export const statefulSets = handle<SelectorSelected>("apps", "statefulsets", "StatefulSet");
export const podDisruptionBudgets = handle<PodDisruptionBudget>(
  "policy",
  "poddisruptionbudgets",
  "PodDisruptionBudget",
);
