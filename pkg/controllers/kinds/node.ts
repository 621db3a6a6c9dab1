/** Nodes, as far as controllers know them; other fields are passed through. */
import type { ApiObject, Handle } from "#client";
import type { Condition } from "./core.ts";

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
  readonly timeAdded?: string;
}

export interface NodeCondition extends Condition {
  readonly lastHeartbeatTime?: string;
}

export interface Node extends ApiObject {
  readonly spec?: {
    readonly podCIDR?: string;
    readonly podCIDRs?: readonly string[];
    readonly providerID?: string;
    readonly unschedulable?: boolean;
    readonly taints?: readonly Taint[];
  };
  readonly status?: {
    readonly conditions?: readonly NodeCondition[];
    readonly addresses?: readonly { readonly type: string; readonly address: string }[];
    readonly capacity?: Readonly<Record<string, string>>;
    readonly allocatable?: Readonly<Record<string, string>>;
    readonly volumesAttached?: readonly { readonly name: string; readonly devicePath: string }[];
    /** Names of volumes that the kubelet has mounted, or is about to. */
    readonly volumesInUse?: readonly string[];
  };
}

export const nodes: Handle<Node> = {
  group: "",
  version: "v1",
  plural: "nodes",
  kind: "Node",
  namespaced: false,
};
