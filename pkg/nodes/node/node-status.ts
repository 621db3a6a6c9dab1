import type { Clock } from "#base";
import type { ContainerImage, Node, NodeCondition, NodeStatus } from "#kinds";
import { type Domain, Quantity, resolve } from "#meta";
import { podCidrsAnnotation, simulatedNodeLabel } from "#routing";
import { machineId, runtimeName, stableUuid, timeText } from "../identifiers.ts";
import type { NodesSettings } from "../settings.ts";
import { driverAnnotations, topologyLabels } from "../volumes/csi-node.ts";

/** Unhealthy conditions of a node. */
export type UnhealthyCondition = "MemoryPressure" | "DiskPressure" | "PIDPressure" | "NotReady";

export interface NodeState {
  readonly name: string;
  /** Port of the kubelet's server; 0 = none. */
  readonly port: number;
  /** Whether a client has created the Node, whose resources are kept. */
  readonly isAdopted: boolean;
  readonly images: readonly ContainerImage[];
  readonly troubles: ReadonlySet<UnhealthyCondition>;
  /** Names of the attachable volumes that pods use or are about to. */
  readonly volumesInUse: readonly string[];
}

/** Hard eviction threshold `memory.available`, which is not allocatable. */
const evictionThreshold = "100Mi";
/** Allocatable percentage of the disk, given the hard eviction threshold `nodefs.available`. */
const diskPercent = 90n;

/** Labels with which a kubelet registers its node. */
export function nodeLabels(
  { name }: Pick<NodeState, "name">,
  { labels }: NodesSettings,
  domain: Domain,
): Readonly<Record<string, string>> {
  return {
    [resolve("beta.{label}/arch", domain)]: "amd64",
    [resolve("beta.{label}/os", domain)]: "linux",
    [resolve("{label}/arch", domain)]: "amd64",
    [resolve("{label}/hostname", domain)]: name,
    [resolve("{label}/os", domain)]: "linux",
    ...topologyLabels(labels, domain),
    ...labels,
    ...simulationMarks([]).labels,
  };
}

/**
 * Label and annotation by which API servers know that the addresses of the node's pods are simulated.
 * @param podCidrs ranges of a node without allocated podCIDRs
 */
export function simulationMarks(podCidrs: readonly string[]) {
  return {
    labels: { [simulatedNodeLabel]: "true" },
    annotations: podCidrs.length === 0 ? {} : { [podCidrsAnnotation]: podCidrs.join(",") },
  };
}

/** Annotations with which a kubelet registers its node. */
export function nodeAnnotations(
  { name, podCidrs }: Pick<NodeState, "name"> & { readonly podCidrs: readonly string[] },
  domain: Domain,
): Readonly<Record<string, string>> {
  return {
    ...driverAnnotations(name, domain),
    ...simulationMarks(podCidrs).annotations,
    [resolve("volumes.{label}/controller-managed-attach-detach", domain)]: "true",
  };
}

/** Status that a kubelet reports, based on the stored one. */
export function nodeStatus(
  { status: old = {} }: Pick<Node, "status">,
  state: NodeState,
  { settings, clock }: { readonly settings: NodesSettings; readonly clock: Clock },
): NodeStatus {
  const { name, port, images, volumesInUse } = state;
  const own = settings.capacity;
  const capacity = state.isAdopted ? { ...own, ...old.capacity } : { ...old.capacity, ...own };
  const allocatable = state.isAdopted
    ? { ...allocatableOf(capacity), ...old.allocatable }
    : { ...old.allocatable, ...allocatableOf(own) };
  return {
    capacity,
    allocatable,
    conditions: conditionsOf(old.conditions ?? [], state, timeText(clock.now())),
    addresses: [
      ...addressesOf(settings).map((address) => ({ type: "InternalIP", address })),
      { type: "Hostname", address: name },
    ],
    daemonEndpoints: { kubeletEndpoint: { Port: port } },
    nodeInfo: nodeInfo(name, settings),
    features: { supplementalGroupsPolicy: true },
    ...(images.length === 0 ? {} : { images }),
    ...(volumesInUse.length === 0 && old.volumesInUse === undefined ? {} : { volumesInUse }),
  };
}

/** Addresses of all nodes: one, or one of each family. */
export function addressesOf(settings: NodesSettings): readonly string[] {
  const { address, secondaryAddress } = settings;
  return secondaryAddress === undefined ? [address] : [address, secondaryAddress];
}

function nodeInfo(
  name: string,
  { kubeletVersion }: NodesSettings,
): Readonly<Record<string, string>> {
  return {
    architecture: "amd64",
    bootID: stableUuid(name, "boot"),
    containerRuntimeVersion: `${runtimeName}://${kubeletVersion.slice(1)}`,
    kernelVersion: "simulated",
    kubeProxyVersion: "",
    kubeletVersion,
    machineID: machineId(name, "machine"),
    operatingSystem: "linux",
    osImage: "Simulated by Keelson",
    systemUUID: stableUuid(name, "system"),
  };
}

/** Allocatable resources of a kubelet with default settings. */
function allocatableOf(capacity: Readonly<Record<string, string>>): Record<string, string> {
  const allocatable: Record<string, string> = { ...capacity };
  const { memory, "ephemeral-storage": disk } = capacity;
  if (memory !== undefined) {
    const left = Quantity.parse(memory).subtract(Quantity.parse(evictionThreshold));
    allocatable["memory"] = left.compare(Quantity.zero) < 0 ? "0" : left.canonical();
  }
  if (disk !== undefined) {
    allocatable["ephemeral-storage"] = String((Quantity.parse(disk).value() * diskPercent) / 100n);
  }
  return allocatable;
}

type Verdict = Pick<NodeCondition, "status" | "reason" | "message">;

/** The kubelet's reasons and messages of each condition: healthy and unhealthy. */
const verdicts: readonly (readonly [UnhealthyCondition, good: Verdict, bad: Verdict])[] = [
  [
    "MemoryPressure",
    pressure("False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    pressure("True", "KubeletHasInsufficientMemory", "kubelet has insufficient memory available"),
  ],
  [
    "DiskPressure",
    pressure("False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    pressure("True", "KubeletHasDiskPressure", "kubelet has disk pressure"),
  ],
  [
    "PIDPressure",
    pressure("False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    pressure("True", "KubeletHasInsufficientPID", "kubelet has insufficient PID available"),
  ],
  [
    "NotReady",
    pressure("True", "KubeletReady", "kubelet is posting ready status"),
    pressure("False", "KubeletNotReady", "the node was made to be not ready by its annotation"),
  ],
];

function pressure(status: NodeCondition["status"], reason: string, message: string): Verdict {
  return { status, reason, message };
}

function conditionsOf(
  old: readonly NodeCondition[],
  { troubles }: NodeState,
  time: string,
): readonly NodeCondition[] {
  return verdicts.map(([trouble, good, bad]) => {
    const type = trouble === "NotReady" ? "Ready" : trouble;
    const verdict = troubles.has(trouble) ? bad : good;
    const known = old.find((each) => each.type === type);
    const isSame = known?.status === verdict.status;
    const lastTransitionTime = isSame ? known.lastTransitionTime : time;
    return {
      type,
      ...verdict,
      lastHeartbeatTime: time,
      lastTransitionTime: lastTransitionTime ?? time,
    };
  });
}
