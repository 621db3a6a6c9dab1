/** Nodes and node selectors. */
import type { ApiObject, Handle } from "#client";
import type { Amounts } from "#quota";
import type { Condition } from "./core.ts";

export interface NodeSelectorRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

export interface NodeSelectorTerm {
  readonly matchExpressions?: readonly NodeSelectorRequirement[];
  readonly matchFields?: readonly NodeSelectorRequirement[];
}

export interface NodeSelector {
  readonly nodeSelectorTerms?: readonly NodeSelectorTerm[];
}

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
  readonly timeAdded?: string;
}

export interface NodeCondition extends Condition {
  readonly lastHeartbeatTime?: string;
}

export interface ContainerImage {
  readonly names?: readonly string[];
  readonly sizeBytes?: number | bigint;
}

export interface NodeSpec {
  readonly podCIDR?: string;
  readonly podCIDRs?: readonly string[];
  readonly providerID?: string;
  readonly unschedulable?: boolean;
  readonly taints?: readonly Taint[];
}

export interface NodeStatus {
  /** Deprecated: kubelets no longer write it. */
  readonly phase?: string;
  readonly capacity?: Amounts;
  readonly allocatable?: Amounts;
  readonly conditions?: readonly NodeCondition[];
  readonly addresses?: readonly { readonly type: string; readonly address: string }[];
  readonly daemonEndpoints?: { readonly kubeletEndpoint?: { readonly Port: number } };
  readonly nodeInfo?: Readonly<Record<string, string>>;
  readonly images?: readonly ContainerImage[];
  readonly volumesAttached?: readonly { readonly name: string; readonly devicePath: string }[];
  /** Names of volumes that the kubelet has mounted, or is about to. */
  readonly volumesInUse?: readonly string[];
  /** What the container runtime of the node can do. */
  readonly features?: { readonly supplementalGroupsPolicy?: boolean };
}

export interface Node extends ApiObject {
  readonly spec?: NodeSpec;
  readonly status?: NodeStatus;
}

export const nodes: Handle<Node> = {
  group: "",
  version: "v1",
  plural: "nodes",
  kind: "Node",
  namespaced: false,
};
