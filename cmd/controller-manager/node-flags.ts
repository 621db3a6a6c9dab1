import { type ControllerSettings, defaultControllerSettings } from "#controllers";
import { flag, type FlagValues } from "../flags/parse.ts";

/** Flags of the controllers of nodes. */
export const nodeFlags = {
  "large-cluster-size-threshold": flag(
    "int",
    defaultControllerSettings.largeClusterSizeThreshold,
    "number of nodes up to which a zone counts as small: evictions stop in a small zone when " +
      "--unhealthy-zone-threshold is reached",
    { minimum: 0 },
  ),
  "node-eviction-rate": flag(
    "float",
    defaultControllerSettings.nodeEvictionRate,
    "number of nodes per second that get a NoExecute taint in a healthy zone",
  ),
  "node-monitor-grace-period": flag(
    "duration",
    defaultControllerSettings.nodeMonitorGraceMs,
    "time for which a node may be unresponsive before its conditions become Unknown; must be " +
      "several times the interval at which kubelets renew their Leases",
    { minimum: 1 },
  ),
  "node-monitor-period": flag(
    "duration",
    defaultControllerSettings.nodeMonitorPeriodMs,
    "interval at which the health of all nodes is checked",
    { minimum: 1 },
  ),
  "node-startup-grace-period": flag(
    "duration",
    defaultControllerSettings.nodeStartupGraceMs,
    "time for which a starting node may be unresponsive before its conditions become Unknown",
    { minimum: 1 },
  ),
  "secondary-node-eviction-rate": flag(
    "float",
    defaultControllerSettings.secondaryNodeEvictionRate,
    "number of nodes per second that get a NoExecute taint in an unhealthy zone; none do in a " +
      "zone of at most --large-cluster-size-threshold nodes",
  ),
  "unhealthy-zone-threshold": flag(
    "float",
    defaultControllerSettings.unhealthyZoneThreshold,
    "fraction of the nodes of a zone (at least 3 nodes) that must be not ready for the zone to " +
      "count as unhealthy",
  ),
} as const;

export function nodeSettings(values: FlagValues<typeof nodeFlags>) {
  return {
    largeClusterSizeThreshold: values["large-cluster-size-threshold"],
    nodeEvictionRate: values["node-eviction-rate"],
    nodeMonitorGraceMs: values["node-monitor-grace-period"],
    nodeMonitorPeriodMs: values["node-monitor-period"],
    nodeStartupGraceMs: values["node-startup-grace-period"],
    secondaryNodeEvictionRate: values["secondary-node-eviction-rate"],
    unhealthyZoneThreshold: values["unhealthy-zone-threshold"],
  } satisfies Partial<ControllerSettings>;
}
