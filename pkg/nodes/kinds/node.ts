/** Nodes and their Leases, as far as a kubelet knows them; other fields are passed through. */
import type { ApiObject, Handle, Lease } from "#client";
import { type Domain, resolve } from "#meta";

export interface NodeCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastHeartbeatTime?: string | null;
  readonly lastTransitionTime?: string | null;
}

export interface NodeImage {
  readonly names: readonly string[];
  readonly sizeBytes: number;
}

export interface NodeStatus {
  readonly capacity?: Readonly<Record<string, string>>;
  readonly allocatable?: Readonly<Record<string, string>>;
  readonly conditions?: readonly NodeCondition[];
  readonly addresses?: readonly { readonly type: string; readonly address: string }[];
  readonly daemonEndpoints?: { readonly kubeletEndpoint?: { readonly Port: number } };
  readonly nodeInfo?: Readonly<Record<string, string>>;
  readonly images?: readonly NodeImage[];
}

export interface Node extends ApiObject {
  readonly spec?: {
    readonly podCIDR?: string;
    readonly podCIDRs?: readonly string[];
    readonly taints?: readonly { readonly key: string; readonly effect: string }[];
  };
  readonly status?: NodeStatus;
}

export const nodes: Handle<Node> = {
  group: "",
  version: "v1",
  plural: "nodes",
  kind: "Node",
  namespaced: false,
};

/** The resource of node heartbeats. */
export function leasesOf(domain: Domain): Handle<Lease> {
  const group = resolve("coordination.{api}", domain);
  return { group, version: "v1", plural: "leases", kind: "Lease", namespaced: true };
}
