/** Kinds of the group apps and ReplicationControllers, as far as controllers know them. */
import type { ApiObject, Handle } from "#client";
import type { LabelSelector } from "#meta";
import type { Condition } from "./core.ts";
import type { PodTemplateSpec } from "./pod.ts";

/** Status of ReplicaSets and ReplicationControllers. */
export interface ReplicaSetStatus {
  readonly replicas: number;
  readonly fullyLabeledReplicas?: number;
  readonly readyReplicas?: number;
  readonly availableReplicas?: number;
  readonly observedGeneration?: number | bigint;
  readonly conditions?: readonly Condition[];
}

export interface ReplicaSet extends ApiObject {
  readonly spec: {
    readonly replicas: number;
    readonly minReadySeconds?: number;
    readonly selector: LabelSelector;
    readonly template: PodTemplateSpec;
  };
  readonly status?: ReplicaSetStatus;
}

export interface ReplicationController extends ApiObject {
  readonly spec: {
    readonly replicas: number;
    readonly minReadySeconds?: number;
    readonly selector?: Readonly<Record<string, string>>;
    readonly template: PodTemplateSpec;
  };
  readonly status?: ReplicaSetStatus;
}

function apps<T extends ApiObject>(plural: string, kind: string): Handle<T> {
  return { group: "apps", version: "v1", plural, kind, namespaced: true };
}

export const replicaSets = apps<ReplicaSet>("replicasets", "ReplicaSet");

export const replicationControllers: Handle<ReplicationController> = {
  group: "",
  version: "v1",
  plural: "replicationcontrollers",
  kind: "ReplicationController",
  namespaced: true,
};
