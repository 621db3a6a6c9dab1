import type { Client } from "#client";
import type { Node } from "#kinds";
import type { PodAddresses } from "../pod-addresses.ts";
import type { PodDelays } from "./pod-run.ts";

/** What a pod needs to know of its node. */
export interface PodHost {
  readonly name: string;
  /** Address of the node. */
  readonly address: string;
  /** Addresses of the node that pods report: one, or one of each family. */
  readonly hostIps: readonly string[];
  readonly client: Client;
  /** Undefined = the node has no range of pod addresses yet. */
  readonly addresses: PodAddresses | undefined;
  /** The Node as its kubelet saw it last. */
  readonly object: Node | undefined;
  /** The kubelet of the node works: it sees pods and writes statuses. */
  readonly isWorking: boolean;
  /** Delays of its pods. */
  readonly delays: PodDelays;
}
