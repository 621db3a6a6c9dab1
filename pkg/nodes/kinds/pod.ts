/** Pods, as far as a kubelet knows them; other fields are passed through. */
import type { ApiObject, Handle } from "#client";

type ResourceList = Readonly<Record<string, string>>;

export interface ResourceRequirements {
  readonly requests?: ResourceList;
  readonly limits?: ResourceList;
}

export interface VolumeMount {
  readonly name: string;
  readonly mountPath: string;
  readonly readOnly?: boolean;
}

export interface Container {
  readonly name: string;
  readonly image?: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly restartPolicy?: string;
  readonly startupProbe?: object;
  readonly resources?: ResourceRequirements;
  readonly volumeMounts?: readonly VolumeMount[];
  readonly lifecycle?: {
    readonly preStop?: { readonly sleep?: { readonly seconds?: number | bigint } };
  };
}

export interface PodSpec {
  readonly nodeName?: string;
  readonly restartPolicy?: string;
  readonly hostNetwork?: boolean;
  readonly hostname?: string;
  readonly activeDeadlineSeconds?: number | bigint;
  readonly terminationGracePeriodSeconds?: number | bigint;
  readonly containers?: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly ephemeralContainers?: readonly Container[];
  readonly readinessGates?: readonly { readonly conditionType: string }[];
  readonly overhead?: ResourceList;
}

export interface Terminated {
  readonly exitCode: number;
  readonly reason?: string;
  readonly message?: string;
  readonly startedAt?: string | null;
  readonly finishedAt?: string | null;
  readonly containerID?: string;
}

export interface ContainerState {
  readonly waiting?: { readonly reason?: string; readonly message?: string };
  readonly running?: { readonly startedAt?: string | null };
  readonly terminated?: Terminated;
}

export interface VolumeMountStatus extends VolumeMount {
  readonly recursiveReadOnly?: string;
}

export interface ContainerStatus {
  readonly name: string;
  readonly state?: ContainerState;
  readonly lastState?: ContainerState;
  readonly ready?: boolean;
  readonly restartCount?: number;
  readonly image?: string;
  readonly imageID?: string;
  readonly containerID?: string;
  readonly started?: boolean;
  readonly allocatedResources?: ResourceList;
  readonly resources?: ResourceRequirements;
  readonly volumeMounts?: readonly VolumeMountStatus[];
}

export interface PodCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastProbeTime?: string | null;
  readonly lastTransitionTime?: string | null;
  readonly observedGeneration?: number | bigint;
}

export type PodPhase = "Pending" | "Running" | "Succeeded" | "Failed" | "Unknown";

export interface PodStatus {
  readonly observedGeneration?: number | bigint;
  readonly phase?: PodPhase;
  readonly reason?: string;
  readonly message?: string;
  readonly qosClass?: string;
  readonly startTime?: string;
  readonly hostIP?: string;
  readonly hostIPs?: readonly { readonly ip: string }[];
  readonly podIP?: string;
  readonly podIPs?: readonly { readonly ip: string }[];
  readonly conditions?: readonly PodCondition[];
  readonly initContainerStatuses?: readonly ContainerStatus[];
  readonly containerStatuses?: readonly ContainerStatus[];
  readonly ephemeralContainerStatuses?: readonly ContainerStatus[];
}

export interface Pod extends ApiObject {
  readonly spec?: PodSpec;
  readonly status?: PodStatus;
}

export const pods: Handle<Pod> = {
  group: "",
  version: "v1",
  plural: "pods",
  kind: "Pod",
  namespaced: true,
};

/** Whether an init container is a sidecar: it runs beside the containers and is restarted. */
export function isSidecar({ restartPolicy }: Container): boolean {
  return restartPolicy === "Always";
}
