import { parseCidr } from "#base";
import { Quantity, QuantityFault } from "#meta";
import { defaultNodesSettings, type NodesSettings } from "#nodes";
import { flag, type FlagValues, UsageError } from "../flags/parse.ts";

const { capacity, delays, eventsPerSecond, namePrefix, portForwardTargets } = defaultNodesSettings;
const pairs = Object.entries(capacity).map(([name, amount]) => `${name}=${amount}`);

/** Flags of all simulated nodes, in `keelson start` and `keelson nodes`. */
export const simulationFlags = {
  "node-name-prefix": flag(
    "string",
    namePrefix,
    "prefix of the names of simulated nodes, before a number from 0",
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
    "labels of simulated nodes beside those of a kubelet, as key=value pairs",
  ),
  "node-secondary-ip": flag(
    "ip",
    "",
    "IP address of the other family that simulated nodes report as well; their pods get addresses of " +
      "both families (default: one family, unless nodes have podCIDRs of both)",
  ),
  "static-pod-path": flag(
    "string",
    "",
    "file or folder with the manifests of static pods of the simulated nodes; a subfolder that is named " +
      "after a node has those of that node alone (default: no static pods)",
  ),
  "event-qps": flag(
    "int",
    eventsPerSecond,
    "Events per second that all simulated nodes of this process record; those beyond are lost; 0 = no limit",
    { minimum: 0 },
  ),
  "pod-start-delay": flag(
    "duration",
    delays.startMs,
    "time from the admission of a simulated pod to the start of its containers",
  ),
  "pod-ready-delay": flag(
    "duration",
    delays.readyMs,
    "time from the start of a simulated container until it is ready",
  ),
  "job-pod-duration": flag(
    "duration",
    delays.jobMs,
    "time for which the simulated containers of a Job's pod run before they succeed",
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
    "CIDRs of the addresses to which the annotation simulated.keelson.dev/port-forward of a pod may " +
      "forward its ports; this process connects to them",
  ),
  stages: flag(
    "bool",
    true,
    "create the CustomResourceDefinition of KWOK's Stages unless there is one; Stages are followed " +
      "wherever it exists",
  ),
  seed: flag(
    "string",
    "",
    "text that decides, with names, what simulated nodes and Stages leave to chance: choices by " +
      "weight, jitter, times of flapping (default: chosen at random)",
  ),
} as const;

/** Most nodes of one process. */
export const mostNodes = 20_000;

/** @throws UsageError for amounts that are no quantities and ranges that are no CIDRs */
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
  | "seed"
> {
  return {
    namePrefix: values["node-name-prefix"],
    capacity: { ...capacity, ...capacityOf(values["node-capacity"]) },
    labels: Object.fromEntries(values["node-labels"]),
    secondaryAddress: values["node-secondary-ip"] || undefined,
    staticPodPath: values["static-pod-path"] || undefined,
    eventsPerSecond: values["event-qps"],
    portForwardTargets: portForwardRanges(values["port-forward-targets"]),
    installsStages: values.stages,
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

function portForwardRanges(cidrs: readonly string[]): readonly string[] {
  for (const cidr of cidrs) {
    if (parseCidr(cidr) !== undefined) continue;
    throw new UsageError(`--port-forward-targets: ${JSON.stringify(cidr)} is no CIDR`);
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
