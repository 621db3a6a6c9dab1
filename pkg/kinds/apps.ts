/** Kinds of the group apps, and ReplicationControllers. */
import type { ApiObject, Handle, Metadata } from "#client";
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

export interface DeploymentCondition extends Condition {
  readonly lastUpdateTime?: string;
}

export interface DeploymentStatus {
  readonly observedGeneration?: number | bigint;
  readonly replicas?: number;
  readonly updatedReplicas?: number;
  readonly readyReplicas?: number;
  readonly availableReplicas?: number;
  readonly unavailableReplicas?: number;
  /** Count of hash collisions of ReplicaSet names. */
  readonly collisionCount?: number;
  readonly conditions?: readonly DeploymentCondition[];
}

export interface Deployment extends ApiObject {
  readonly spec: {
    readonly replicas: number;
    readonly minReadySeconds?: number;
    readonly selector: LabelSelector;
    readonly template: PodTemplateSpec;
    readonly paused?: boolean;
    readonly progressDeadlineSeconds?: number;
    readonly revisionHistoryLimit?: number;
    readonly strategy: {
      readonly type: "RollingUpdate" | "Recreate";
      readonly rollingUpdate?: {
        readonly maxSurge?: number | string;
        readonly maxUnavailable?: number | string;
      };
    };
  };
  readonly status?: DeploymentStatus;
}

export interface StatefulSetStatus {
  readonly observedGeneration?: number | bigint;
  readonly replicas: number;
  readonly readyReplicas?: number;
  readonly availableReplicas?: number;
  readonly currentReplicas?: number;
  readonly updatedReplicas?: number;
  /** Names of ControllerRevisions. */
  readonly currentRevision?: string;
  readonly updateRevision?: string;
  readonly collisionCount?: number;
  readonly conditions?: readonly Condition[];
}

/** A PersistentVolumeClaim of each pod; its name is that of the volume. */
export interface VolumeClaimTemplate {
  readonly metadata?: Partial<Metadata>;
  readonly spec?: object;
}

export interface StatefulSet extends ApiObject {
  readonly spec: {
    readonly replicas: number;
    readonly minReadySeconds?: number;
    readonly revisionHistoryLimit?: number;
    readonly selector: LabelSelector;
    readonly template: PodTemplateSpec;
    readonly serviceName?: string;
    readonly podManagementPolicy?: "OrderedReady" | "Parallel";
    readonly ordinals?: { readonly start?: number };
    readonly volumeClaimTemplates?: readonly VolumeClaimTemplate[];
    readonly persistentVolumeClaimRetentionPolicy?: {
      readonly whenDeleted?: "Retain" | "Delete";
      readonly whenScaled?: "Retain" | "Delete";
    };
    readonly updateStrategy: {
      readonly type?: "RollingUpdate" | "OnDelete";
      readonly rollingUpdate?: {
        readonly partition?: number;
        readonly maxUnavailable?: number | string;
      };
    };
  };
  readonly status?: StatefulSetStatus;
}

export interface DaemonSetStatus {
  readonly observedGeneration?: number | bigint;
  readonly currentNumberScheduled: number;
  readonly desiredNumberScheduled: number;
  readonly numberMisscheduled: number;
  readonly numberReady: number;
  readonly updatedNumberScheduled?: number;
  readonly numberAvailable?: number;
  readonly numberUnavailable?: number;
  readonly collisionCount?: number;
}

export interface DaemonSet extends ApiObject {
  readonly spec: {
    readonly minReadySeconds?: number;
    readonly revisionHistoryLimit?: number;
    readonly selector: LabelSelector;
    readonly template: PodTemplateSpec;
    readonly updateStrategy: {
      readonly type?: "RollingUpdate" | "OnDelete";
      readonly rollingUpdate?: {
        readonly maxSurge?: number | string;
        readonly maxUnavailable?: number | string;
      };
    };
  };
  readonly status?: DaemonSetStatus;
}

export interface ControllerRevision extends ApiObject {
  /** A patch of the workload: `{"spec":{"template":{…,"$patch":"replace"}}}`. */
  readonly data?: unknown;
  readonly revision: number | bigint;
}

function apps<T extends ApiObject>(plural: string, kind: string): Handle<T> {
  return { group: "apps", version: "v1", plural, kind, namespaced: true };
}

export const replicaSets = apps<ReplicaSet>("replicasets", "ReplicaSet");

export const statefulSets = apps<StatefulSet>("statefulsets", "StatefulSet");
export const daemonSets = apps<DaemonSet>("daemonsets", "DaemonSet");
export const controllerRevisions = apps<ControllerRevision>(
  "controllerrevisions",
  "ControllerRevision",
);
export const deployments = apps<Deployment>("deployments", "Deployment");

export const replicationControllers: Handle<ReplicationController> = {
  group: "",
  version: "v1",
  plural: "replicationcontrollers",
  kind: "ReplicationController",
  namespaced: true,
};
