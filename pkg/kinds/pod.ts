/** Pods and pod templates. */
import type { ApiObject, Handle, Metadata } from "#client";
import type { Amounts } from "#quota";
import type { Affinity, Toleration, TopologySpreadConstraint } from "./affinity.ts";
import type {
  Container,
  ContainerStatus,
  ResourceFieldSelector,
  ResourceRequirements,
} from "./container.ts";
import type { Condition } from "./core.ts";

export interface PodCondition extends Condition {
  readonly lastProbeTime?: string | null;
  readonly observedGeneration?: number | bigint;
}

/** A key of a Secret or ConfigMap that becomes a file. */
export interface KeyToPath {
  readonly key: string;
  readonly path: string;
  readonly mode?: number;
}

/** A field of the pod, or a resource of a container, as a file. */
export interface DownwardFile {
  readonly path: string;
  readonly fieldRef?: { readonly fieldPath: string };
  readonly resourceFieldRef?: ResourceFieldSelector;
  readonly mode?: number;
}

/** A token of the pod's service account as a file. */
export interface TokenProjection {
  readonly path: string;
  readonly audience?: string;
  readonly expirationSeconds?: number | bigint;
}

export interface ProjectedSource {
  readonly secret?: FileSource;
  readonly configMap?: FileSource;
  readonly downwardAPI?: { readonly items?: readonly DownwardFile[] };
  readonly serviceAccountToken?: TokenProjection;
}

/** Files from a Secret or ConfigMap. */
export interface FileSource {
  readonly name?: string;
  readonly items?: readonly KeyToPath[];
  readonly optional?: boolean;
}

export interface Volume {
  readonly name: string;
  readonly persistentVolumeClaim?: { readonly claimName: string; readonly readOnly?: boolean };
  readonly ephemeral?: object;
  readonly emptyDir?: object;
  readonly hostPath?: { readonly path: string; readonly type?: string };
  readonly secret?: Omit<FileSource, "name"> & {
    readonly secretName?: string;
    readonly defaultMode?: number;
  };
  readonly configMap?: FileSource & { readonly defaultMode?: number };
  readonly downwardAPI?: {
    readonly items?: readonly DownwardFile[];
    readonly defaultMode?: number;
  };
  readonly projected?: {
    readonly sources?: readonly ProjectedSource[];
    readonly defaultMode?: number;
  };
  readonly csi?: {
    readonly driver: string;
    readonly volumeAttributes?: Readonly<Record<string, string>>;
  };
  readonly gcePersistentDisk?: { readonly pdName: string; readonly readOnly?: boolean };
  readonly awsElasticBlockStore?: { readonly volumeID: string };
  readonly azureDisk?: { readonly diskURI: string };
  readonly cinder?: { readonly volumeID: string };
  readonly portworxVolume?: { readonly volumeID: string };
  readonly iscsi?: { readonly iqn: string; readonly readOnly?: boolean };
  readonly rbd?: {
    readonly monitors: readonly string[];
    readonly pool?: string;
    readonly image: string;
    readonly readOnly?: boolean;
  };
}

/** A claim for devices: one that exists, or a template for one of the pod's own. */
export interface PodResourceClaim {
  readonly name: string;
  readonly resourceClaimName?: string;
  readonly resourceClaimTemplateName?: string;
}

export interface PodResourceClaimStatus {
  readonly name: string;
  /** Absent = the pod needs no claim. */
  readonly resourceClaimName?: string;
}

export interface PodSpec {
  readonly nodeName?: string;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly schedulerName?: string;
  readonly schedulingGates?: readonly { readonly name: string }[];
  readonly priority?: number;
  readonly preemptionPolicy?: string;
  readonly affinity?: Affinity;
  readonly tolerations?: readonly Toleration[];
  readonly topologySpreadConstraints?: readonly TopologySpreadConstraint[];
  readonly restartPolicy?: string;
  readonly hostNetwork?: boolean;
  readonly hostIPC?: boolean;
  readonly os?: { readonly name: string };
  readonly securityContext?: {
    readonly sysctls?: readonly { readonly name: string; readonly value: string }[];
    readonly supplementalGroupsPolicy?: string;
    readonly fsGroup?: number | bigint;
  };
  readonly hostname?: string;
  readonly serviceAccountName?: string;
  /** Services of the namespace become environment variables; absent = they do. */
  readonly enableServiceLinks?: boolean;
  readonly subdomain?: string;
  readonly activeDeadlineSeconds?: number | bigint;
  readonly terminationGracePeriodSeconds?: number | bigint;
  readonly containers?: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly ephemeralContainers?: readonly Container[];
  readonly readinessGates?: readonly { readonly conditionType: string }[];
  readonly overhead?: Amounts;
  readonly resources?: ResourceRequirements;
  readonly volumes?: readonly Volume[];
  readonly resourceClaims?: readonly PodResourceClaim[];
}

export interface PodTemplateSpec {
  readonly metadata?: Pick<Metadata, "labels" | "annotations" | "finalizers">;
  readonly spec?: PodSpec;
}

export type PodPhase = "Pending" | "Running" | "Succeeded" | "Failed" | "Unknown";

export interface PodStatus {
  readonly observedGeneration?: number | bigint;
  readonly phase?: PodPhase;
  readonly reason?: string;
  readonly message?: string;
  readonly qosClass?: string;
  readonly startTime?: string;
  readonly nominatedNodeName?: string;
  readonly hostIP?: string;
  readonly hostIPs?: readonly { readonly ip: string }[];
  readonly podIP?: string;
  readonly podIPs?: readonly { readonly ip: string }[];
  readonly conditions?: readonly PodCondition[];
  readonly initContainerStatuses?: readonly ContainerStatus[];
  readonly containerStatuses?: readonly ContainerStatus[];
  readonly ephemeralContainerStatuses?: readonly ContainerStatus[];
  readonly resourceClaimStatuses?: readonly PodResourceClaimStatus[];
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

/** Priority of the pod; 0 without one. */
export function priorityOf({ spec }: Pod): number {
  return spec?.priority ?? 0;
}

/** Statuses of all containers: those of init containers first, of ephemeral ones last. */
export function statusesOf({ status }: Pod): readonly ContainerStatus[] {
  const { initContainerStatuses = [], containerStatuses = [] } = status ?? {};
  const { ephemeralContainerStatuses = [] } = status ?? {};
  return [...initContainerStatuses, ...containerStatuses, ...ephemeralContainerStatuses];
}

/** The containers of a pod in the order of their start, ephemeral ones last. */
export function containersOf({ spec }: Pod): readonly Container[] {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = spec ?? {};
  return [...initContainers, ...containers, ...ephemeralContainers];
}
