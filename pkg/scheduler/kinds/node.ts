/** Nodes, as far as the scheduler reads them. */
import type { ApiObject, Handle } from "#client";
import type { Amounts } from "#quota";

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
}

export interface ContainerImage {
  readonly names?: readonly string[];
  readonly sizeBytes?: number | bigint;
}

export interface Node extends ApiObject {
  readonly spec?: {
    readonly unschedulable?: boolean;
    readonly taints?: readonly Taint[];
    readonly providerID?: string;
  };
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly allocatable?: Amounts;
    readonly images?: readonly ContainerImage[];
  };
}

export const nodes: Handle<Node> = {
  group: "",
  version: "v1",
  plural: "nodes",
  kind: "Node",
  namespaced: false,
};
