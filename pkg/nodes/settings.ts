import type { Clock, Random } from "#base";
import type { Client, Informers } from "#client";
import type { Instruments } from "#request";
import type { KubeletServing } from "./kubelet/kubelet-server.ts";
import type { PodDelays } from "./lifecycle/container-ends.ts";
import type { StageClients } from "./stages/play/stage-clients.ts";
import type { StorageSettings } from "./storage/simulated-storage.ts";

/** Settings of all nodes of the process and their pods. */
export interface NodesSettings {
  readonly count: number;
  /** Prefix of node names, followed by a number from 0. */
  readonly namePrefix: string;
  /** Amounts by resource: `cpu`, `memory`, `ephemeral-storage`, `pods`, extended resources. */
  readonly capacity: Readonly<Record<string, string>>;
  /** Labels in addition to the kubelet's. */
  readonly labels: Readonly<Record<string, string>>;
  /** Address of all nodes, on which their kubelets serve. */
  readonly address: string;
  /** Address of the other IP family for dual-stack nodes; absent = single-stack. */
  readonly secondaryAddress?: string | undefined;
  /** Range from which nodes without a podCIDR use a /24 each. */
  readonly podCidr: string;
  /** Whether nodes wait for a controller to allocate their podCIDR; false = they use a default one. */
  readonly allocatesPodCidrs: boolean;
  readonly delays: PodDelays;
  /**
   * File or folder with the manifests of static pods: of all nodes, in subfolders of the node with the
   * subfolder's name.
   */
  readonly staticPodPath?: string | undefined;
  /** Rate limit of Events of all nodes per second; excess ones are dropped. 0 = no limit. */
  readonly eventsPerSecond: number;
  /** Duration of node Leases, in which they are renewed four times. */
  readonly leaseDurationSeconds: number;
  /** The simulated CSI driver. */
  readonly storage: StorageSettings;
  /** Whether pods report the health of their devices: feature gate ResourceHealthStatus. */
  readonly reportsDeviceHealth: boolean;
  /** `nodeInfo.kubeletVersion`. */
  readonly kubeletVersion: string;
  /** Address ranges that annotations may specify for port forwarding. */
  readonly portForwardTargets: readonly string[];
  /** Whether to create a missing CustomResourceDefinition of KWOK Stages. */
  readonly installsStages: boolean;
  /**
   * Whether containers and exec probes whose programs are not simulated fail; false = they run and pass, and
   * an Event says so.
   */
  readonly strictSimulation: boolean;
  /** Which Nodes of clients to simulate besides the process's own. */
  readonly managed: ManagedNodes;
  /** Seed of randomness, which then depends only on it and on names; undefined = not deterministic. */
  readonly seed?: string | undefined;
}

/** Nodes that clients create and the process simulates, by KWOK's switches: those of any of them. */
export interface ManagedNodes {
  readonly all: boolean;
  /** Selector of annotations; "" = none. */
  readonly annotationSelector: string;
  /** Selector of labels; "" = none. */
  readonly labelSelector: string;
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
  installsStages: false,
  strictSimulation: false,
  managed: { all: false, annotationSelector: "kwok.x-k8s.io/node=fake", labelSelector: "" },
};

/** Dependencies of simulated nodes. */
export interface NodesContext {
  /** Informers of all pods and nodes. */
  readonly informers: Informers;
  /** Client with permissions beyond a kubelet's for all nodes; absent = no KWOK Stages. */
  readonly nodesClient?: Client | undefined;
  /** Clients for Stages of other kinds than pods and nodes; absent = no KWOK Stages. */
  readonly stageClients?: StageClients | undefined;
  /** Client with the identity of a node. */
  readonly clientOf: (node: string) => Client;
  /** Client of the simulated CSI driver's controllers. */
  readonly storageClient: Client;
  readonly clock: Clock;
  /** Receives the times of the next Lease renewals, by node. */
  readonly heartbeats?: Map<string, number> | undefined;
  readonly random: Random;
  readonly signal: AbortSignal;
  /** Reports an error that will be retried. */
  readonly report: (what: string, error: unknown) => void;
  readonly instruments: Instruments;
  /** Certificates of the kubelets' server; absent = no server: no logs, no exec. */
  readonly serving?: KubeletServing | undefined;
}
