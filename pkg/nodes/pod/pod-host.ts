import type { Client } from "#client";
import type { Node } from "#kinds";
import type { PodAddresses } from "../pod-addresses.ts";
import type { PodDelays } from "../lifecycle/container-ends.ts";

/** Node properties that the simulation of a pod uses. */
export interface PodHost {
  readonly name: string;
  /** Address of the node. */
  readonly address: string;
  /** Addresses of the node that pods report: one, or one of each family. */
  readonly hostIps: readonly string[];
  readonly client: Client;
  /** Undefined = the node has no podCIDR yet. */
  readonly addresses: PodAddresses | undefined;
  /** The Node as last observed by its kubelet. */
  readonly object: Node | undefined;
  /** Whether the kubelet works: it observes pods and writes statuses. */
  readonly isWorking: boolean;
  /** Delays of its pods. */
  readonly delays: PodDelays;
}
