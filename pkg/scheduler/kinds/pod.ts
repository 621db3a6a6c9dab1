/** Pods, as far as the scheduler reads them; other fields are passed through. */
import type { ApiObject, Handle } from "#client";
import type { LabelSelector } from "#meta";
import type { Amounts } from "#quota";
import type { NodeSelector, NodeSelectorTerm } from "./node.ts";

export type Labels = Readonly<Record<string, string>>;

export interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
}

export interface ContainerPort {
  readonly hostPort?: number;
  readonly hostIP?: string;
  readonly protocol?: string;
}

export interface Container {
  readonly name: string;
  readonly image?: string;
  readonly restartPolicy?: string;
  readonly ports?: readonly ContainerPort[];
  readonly resources?: { readonly requests?: Amounts; readonly limits?: Amounts };
}

export interface PodAffinityTerm {
  readonly labelSelector?: LabelSelector;
  readonly namespaceSelector?: LabelSelector;
  readonly namespaces?: readonly string[];
  readonly topologyKey: string;
}

export interface WeightedPodAffinityTerm {
  readonly weight: number;
  readonly podAffinityTerm: PodAffinityTerm;
}

/** Terms of pod affinity or anti-affinity. */
export interface PodAffinityTerms {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: readonly PodAffinityTerm[];
  readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly WeightedPodAffinityTerm[];
}

export interface PreferredSchedulingTerm {
  readonly weight: number;
  readonly preference: NodeSelectorTerm;
}

export interface NodeAffinity {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: NodeSelector;
  readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly PreferredSchedulingTerm[];
}

export interface Affinity {
  readonly nodeAffinity?: NodeAffinity;
  readonly podAffinity?: PodAffinityTerms;
  readonly podAntiAffinity?: PodAffinityTerms;
}

export interface TopologySpreadConstraint {
  readonly maxSkew: number;
  readonly topologyKey: string;
  readonly whenUnsatisfiable: string;
  readonly labelSelector?: LabelSelector;
  readonly minDomains?: number;
  readonly nodeAffinityPolicy?: string;
  readonly nodeTaintsPolicy?: string;
  readonly matchLabelKeys?: readonly string[];
}

export interface Volume {
  readonly name: string;
  readonly persistentVolumeClaim?: { readonly claimName: string; readonly readOnly?: boolean };
  readonly ephemeral?: object;
  readonly gcePersistentDisk?: { readonly pdName: string; readonly readOnly?: boolean };
  readonly awsElasticBlockStore?: { readonly volumeID: string };
  readonly iscsi?: { readonly iqn: string; readonly readOnly?: boolean };
  readonly rbd?: {
    readonly monitors: readonly string[];
    readonly pool?: string;
    readonly image: string;
    readonly readOnly?: boolean;
  };
}

export interface PodCondition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly lastTransitionTime?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly observedGeneration?: number | bigint;
}

export interface PodSpec {
  readonly nodeName?: string;
  readonly schedulerName?: string;
  readonly priority?: number;
  readonly preemptionPolicy?: string;
  readonly nodeSelector?: Labels;
  readonly affinity?: Affinity;
  readonly tolerations?: readonly Toleration[];
  readonly topologySpreadConstraints?: readonly TopologySpreadConstraint[];
  readonly schedulingGates?: readonly { readonly name: string }[];
  readonly containers?: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly overhead?: Amounts;
  readonly resources?: { readonly requests?: Amounts; readonly limits?: Amounts };
  readonly volumes?: readonly Volume[];
  readonly resourceClaims?: readonly {
    readonly name: string;
    readonly resourceClaimName?: string;
    readonly resourceClaimTemplateName?: string;
  }[];
}

export interface PodStatus {
  readonly phase?: string;
  readonly startTime?: string;
  readonly nominatedNodeName?: string;
  readonly conditions?: readonly PodCondition[];
  readonly resourceClaimStatuses?: readonly {
    readonly name: string;
    readonly resourceClaimName?: string;
  }[];
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

export function namespaceOf({ metadata }: ApiObject): string {
  return metadata.namespace ?? "";
}

export function labelsOf({ metadata }: ApiObject): Labels {
  return metadata.labels ?? noLabels;
}

const noLabels: Labels = {};

/** Pods that have not ended. */
export const livePods = { fieldSelector: "status.phase!=Succeeded,status.phase!=Failed" } as const;
