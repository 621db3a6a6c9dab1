import type { Clock, Random } from "#base";
import type { Client, Informers } from "#client";
import type { Instruments } from "#request";
import type { KubeletServing } from "./kubelet/kubelet-server.ts";
import type { PodDelays } from "./pod/pod-run.ts";
import type { StageClients } from "./stages/play/stage-clients.ts";
import type { StorageSettings } from "./storage/simulated-storage.ts";

/** What every node of the process has, and how its pods behave. */
export interface NodesSettings {
  readonly count: number;
  /** Nodes are named by this and a number from 0. */
  readonly namePrefix: string;
  /** Amounts by resource: `cpu`, `memory`, `ephemeral-storage`, `pods`, extended resources. */
  readonly capacity: Readonly<Record<string, string>>;
  /** Labels beside those of a kubelet. */
  readonly labels: Readonly<Record<string, string>>;
  /** Address of all nodes, which their kubelets serve on. */
  readonly address: string;
  /** Address of the other family that dual-stack nodes report as well; absent = of one family. */
  readonly secondaryAddress?: string | undefined;
  /** Range out of which nodes without a podCIDR take a /24 each. */
  readonly podCidr: string;
  /** Nodes wait for a controller to give them a podCIDR; false = they take one of their own. */
  readonly allocatesPodCidrs: boolean;
  readonly delays: PodDelays;
  /**
   * File or folder with the manifests of static pods: those of a folder are for all nodes, those of its
   * subfolders for the node that a subfolder is named after.
   */
  readonly staticPodPath?: string | undefined;
  /** Events of all nodes per second; those beyond are lost. 0 = no limit. */
  readonly eventsPerSecond: number;
  /** Duration of the Lease of a node, which it renews four times in that. */
  readonly leaseDurationSeconds: number;
  /** The simulated CSI driver. */
  readonly storage: StorageSettings;
  /** Pods report the health of their devices: feature gate ResourceHealthStatus. */
  readonly reportsDeviceHealth: boolean;
  /** Version that nodes report as that of their kubelet. */
  readonly kubeletVersion: string;
  /** Ranges of addresses that pods' annotations may name for port forwarding. */
  readonly portForwardTargets: readonly string[];
  /** Creates the CustomResourceDefinition of KWOK's Stages unless there is one. */
  readonly installsStages: boolean;
  /** Makes chance depend on this text and on names alone; undefined = it does not. */
  readonly seed?: string | undefined;
}

export const defaultNodesSettings: NodesSettings = {
  count: 1,
  namePrefix: "hollow-",
  capacity: { cpu: "8", memory: "32Gi", "ephemeral-storage": "100Gi", pods: "110" },
  labels: {},
  address: "127.0.0.1",
  podCidr: "10.128.0.0/9",
  allocatesPodCidrs: false,
  delays: { startMs: 0, readyMs: 0, initMs: 0, jobMs: 1_000 },
  eventsPerSecond: 50,
  leaseDurationSeconds: 40,
  storage: { defaultClass: "", isElected: false },
  reportsDeviceHealth: false,
  kubeletVersion: "v1.34.0",
  portForwardTargets: ["127.0.0.0/8", "::1/128"],
  installsStages: true,
};

/** Dependencies of simulated nodes. */
export interface NodesContext {
  /** Informers of all pods and nodes. */
  readonly informers: Informers;
  /** Acts for all nodes, also where a kubelet may not; absent = KWOK's Stages are not followed. */
  readonly nodesClient?: Client | undefined;
  /** The rights of Stages beyond pods and nodes; absent = KWOK's Stages are not followed. */
  readonly stageClients?: StageClients | undefined;
  /** A client that acts for a node. */
  readonly clientOf: (node: string) => Client;
  /** A client that acts for the controllers of the simulated CSI driver. */
  readonly storageClient: Client;
  readonly clock: Clock;
  /** Takes the times at which nodes renew their Lease next. */
  readonly heartbeats?: Map<string, number> | undefined;
  readonly random: Random;
  readonly signal: AbortSignal;
  /** Reports an error that will be retried. */
  readonly report: (what: string, error: unknown) => void;
  readonly instruments: Instruments;
  /** Certificates of the kubelets' server; absent = nodes have none: no logs, no exec. */
  readonly serving?: KubeletServing | undefined;
}
