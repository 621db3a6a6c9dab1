import type { Plugin } from "../framework/contract.ts";
import type { ExtensionPoint } from "../framework/extension-points.ts";
import type { PluginHandle } from "../framework/handle.ts";
import type { PluginArgs } from "../configuration/profile.ts";
import { defaultBinder } from "./default-binder.ts";
import { defaultPreemption } from "./default-preemption/plugin.ts";
import { dynamicResources } from "./dynamic-resources/plugin.ts";
import { imageLocality } from "./image-locality.ts";
import { interPodAffinity } from "./inter-pod-affinity/plugin.ts";
import { nodeAffinity } from "./node-affinity.ts";
import { nodeName } from "./node-name.ts";
import { nodePorts } from "./node-ports.ts";
import { nodeResourcesBalancedAllocation, nodeResourcesFit } from "./node-resources/fit.ts";
import { nodeUnschedulable } from "./node-unschedulable.ts";
import { podTopologySpread } from "./pod-topology-spread/plugin.ts";
import { prioritySort } from "./priority-sort.ts";
import { schedulingGates } from "./scheduling-gates.ts";
import { taintToleration } from "./taint-toleration.ts";
import { nodeVolumeLimits } from "./node-volume-limits.ts";
import { volumeBinding } from "./volume-binding/plugin.ts";
import { volumeRestrictions } from "./volume-restrictions.ts";
import { volumeZone } from "./volume-zone.ts";

type Factory = (handle: PluginHandle, args: PluginArgs) => Plugin;

/** A built-in plugin. */
export interface RegisteredPlugin {
  readonly make: Factory;
  /** Default score weight; 0 = no score plugin. */
  readonly weight: number;
  /** Extension points that it implements in kube-scheduler. */
  readonly points: readonly ExtensionPoint[];
}

const filters = ["preFilter", "filter"] as const;
const scores = ["preScore", "score"] as const;

function plugin(points: readonly ExtensionPoint[], make: Factory, weight = 0): RegisteredPlugin {
  return { make, weight, points };
}

/** Built-in plugins in default execution order. */
export const pluginRegistry: ReadonlyMap<string, RegisteredPlugin> = new Map([
  ["SchedulingGates", plugin(["preEnqueue"], schedulingGates)],
  ["PrioritySort", plugin(["queueSort"], prioritySort)],
  ["NodeUnschedulable", plugin(["filter"], ({ domain }) => nodeUnschedulable(domain))],
  ["NodeName", plugin(["filter"], nodeName)],
  ["TaintToleration", plugin(["filter", ...scores], taintToleration, 3)],
  [
    "NodeAffinity",
    plugin([...filters, ...scores], (_handle, args) => nodeAffinity(args.addedAffinity), 2),
  ],
  ["NodePorts", plugin(filters, nodePorts)],
  [
    "NodeResourcesFit",
    plugin([...filters, ...scores], (handle, args) => nodeResourcesFit(handle, args.fit), 1),
  ],
  ["VolumeRestrictions", plugin(filters, volumeRestrictions)],
  ["NodeVolumeLimits", plugin(filters, nodeVolumeLimits)],
  [
    "VolumeBinding",
    plugin([...filters, "reserve", "preBind", ...scores], (handle, args) =>
      volumeBinding(handle, args.volumeBinding),
    ),
  ],
  ["VolumeZone", plugin(filters, volumeZone)],
  [
    "PodTopologySpread",
    plugin([...filters, ...scores], (handle, args) => podTopologySpread(handle, args.spread), 2),
  ],
  [
    "InterPodAffinity",
    plugin([...filters, ...scores], (handle, args) => interPodAffinity(handle, args.affinity), 2),
  ],
  [
    "DynamicResources",
    plugin([...filters, "postFilter", "reserve", "preBind", "preEnqueue"], (handle, args) =>
      dynamicResources(handle, args.devices),
    ),
  ],
  [
    "DefaultPreemption",
    plugin(["postFilter", "preEnqueue"], (handle, args) =>
      defaultPreemption(handle, args.preemption),
    ),
  ],
  [
    "NodeResourcesBalancedAllocation",
    plugin(scores, (_handle, args) => nodeResourcesBalancedAllocation(args.balancedResources), 1),
  ],
  ["ImageLocality", plugin(["score"], imageLocality, 1)],
  ["DefaultBinder", plugin(["bind"], defaultBinder)],
]);
