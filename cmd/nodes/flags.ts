import { parseCidr } from "#base";
import { Quantity, QuantityFault } from "#meta";
import { defaultNodesSettings, type NodesSettings } from "#nodes";
import { flag, type FlagValues, UsageError } from "../flags/parse.ts";

const { capacity, delays, eventsPerSecond, managed, namePrefix, portForwardTargets } =
  defaultNodesSettings;
const pairs = Object.entries(capacity).map(([name, amount]) => `${name}=${amount}`);

/** Flags of all simulated nodes, in `keelson start` and `keelson nodes`. */
export const simulationFlags = {
  "node-name-prefix": flag(
    "string",
    namePrefix,
    "prefix of the names of simulated nodes, which are numbered from 0",
  ),
  "node-capacity": flag(
    "pairs",
    new Map(Object.entries(capacity)),
    `capacity of each simulated node, as resource=quantity pairs; unnamed resources keep their ` +
      `default (${pairs.join(",")})`,
  ),
  "node-labels": flag(
    "pairs",
    new Map(),
    "labels of simulated nodes in addition to those that a kubelet sets, as key=value pairs",
  ),
  "node-secondary-ip": flag(
    "ip",
    "",
    "additional IP address of simulated nodes, of the other family; their pods get addresses of " +
      "both families (default: one family, unless nodes have podCIDRs of both)",
  ),
  "static-pod-path": flag(
    "string",
    "",
    "file or directory of the manifests of static pods of the simulated nodes; a subdirectory " +
      "with the name of a node applies only to that node (default: no static pods)",
  ),
  "event-qps": flag(
    "int",
    eventsPerSecond,
    "maximum number of Events per second that all simulated nodes of this process record; Events " +
      "beyond it are dropped; 0 = no limit",
    { minimum: 0 },
  ),
  "pod-start-delay": flag(
    "duration",
    delays.startMs,
    "delay between the admission of a simulated pod and the start of its containers",
  ),
  "pod-ready-delay": flag(
    "duration",
    delays.readyMs,
    "delay between the start of a simulated container and its readiness",
  ),
  "job-pod-duration": flag(
    "duration",
    delays.jobMs,
    "time for which simulated containers of a Job's pods run before they succeed",
  ),
  "default-storage-class": flag(
    "string",
    "",
    "name of a default StorageClass to create, whose volumes the simulated CSI driver " +
      "simulated.keelson.dev provisions; empty = none",
  ),
  "port-forward-targets": flag(
    "list",
    portForwardTargets,
    "CIDRs of the addresses to which the annotation simulated.keelson.dev/port-forward of a pod " +
      "may forward ports; this process connects to them",
  ),
  "strict-simulation": flag(
    "bool",
    false,
    "fail exec probes and containers whose programs are not simulated; by default they pass and " +
      "run, and an Event NotSimulated of the pod says so",
  ),
  stages: flag(
    "bool",
    false,
    "create the CustomResourceDefinition of KWOK's Stages if it is absent; Stages take effect " +
      "wherever it exists",
  ),
  "manage-all-nodes": flag("bool", managed.all, "simulate all Nodes that clients create"),
  "manage-nodes-with-annotation-selector": flag(
    "string",
    managed.annotationSelector,
    "simulate Nodes of clients whose annotations match this selector; empty = none",
  ),
  "manage-nodes-with-label-selector": flag(
    "string",
    managed.labelSelector,
    "simulate Nodes of clients whose labels match this selector; empty = none",
  ),
  seed: flag(
    "string",
    "",
    "seed of the random decisions of simulated nodes and Stages, which also depend on names: " +
      "choices by weight, jitter, times of flapping (default: random)",
  ),
} as const;

/** Maximum number of simulated nodes of one process. */
export const maxNodes = 20_000;

/** @throws UsageError for invalid quantities and CIDRs */
export function simulationSettings(
  values: FlagValues<typeof simulationFlags>,
): Pick<
  NodesSettings,
  | "namePrefix"
  | "capacity"
  | "labels"
  | "secondaryAddress"
  | "staticPodPath"
  | "eventsPerSecond"
  | "delays"
  | "storage"
  | "portForwardTargets"
  | "installsStages"
  | "strictSimulation"
  | "managed"
  | "seed"
> {
  return {
    namePrefix: values["node-name-prefix"],
    capacity: { ...capacity, ...capacityOf(values["node-capacity"]) },
    labels: Object.fromEntries(values["node-labels"]),
    secondaryAddress: values["node-secondary-ip"] || undefined,
    staticPodPath: values["static-pod-path"] || undefined,
    eventsPerSecond: values["event-qps"],
    portForwardTargets: cidrsOf(values["port-forward-targets"], "port-forward-targets"),
    installsStages: values.stages,
    strictSimulation: values["strict-simulation"],
    managed: {
      all: values["manage-all-nodes"],
      annotationSelector: values["manage-nodes-with-annotation-selector"],
      labelSelector: values["manage-nodes-with-label-selector"],
    },
    seed: values.seed || undefined,
    delays: {
      ...delays,
      startMs: values["pod-start-delay"],
      readyMs: values["pod-ready-delay"],
      jobMs: values["job-pod-duration"],
    },
    storage: { defaultClass: values["default-storage-class"], isElected: false },
  };
}

/** The values of a flag. @throws UsageError for one that is not a CIDR */
export function cidrsOf(cidrs: readonly string[], flagName: string): readonly string[] {
  for (const cidr of cidrs) {
    if (parseCidr(cidr) !== undefined) continue;
    throw new UsageError(`--${flagName}: ${JSON.stringify(cidr)} is not a CIDR`);
  }
  return cidrs;
}

function capacityOf(amounts: ReadonlyMap<string, string>): Readonly<Record<string, string>> {
  const parsed = [...amounts].map(([name, amount]) => {
    try {
      return [name, Quantity.parse(amount).canonical()];
    } catch (error) {
      if (!(error instanceof QuantityFault)) throw error;
      throw new UsageError(`--node-capacity: ${name}: ${error.message}`);
    }
  });
  return Object.fromEntries(parsed);
}
