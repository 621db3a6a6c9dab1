import type { Plugin } from "../framework/contract.ts";
import type { PluginHandle } from "../framework/handle.ts";
import type { PluginArgs } from "../configuration/profile.ts";
import { defaultBinder } from "./default-binder.ts";
import { defaultPreemption } from "./default-preemption/plugin.ts";
import { dynamicResources } from "./dynamic-resources.ts";
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
import { volumeBinding } from "./volume-binding/plugin.ts";

type Factory = (handle: PluginHandle, args: PluginArgs) => Plugin;

/** Plugins in the order in which they run by default, with the default weight of their scores. */
export const pluginRegistry: ReadonlyMap<
  string,
  { readonly make: Factory; readonly weight: number }
> = new Map<string, { readonly make: Factory; readonly weight: number }>([
  ["SchedulingGates", { make: schedulingGates, weight: 0 }],
  ["PrioritySort", { make: prioritySort, weight: 0 }],
  ["NodeUnschedulable", { make: ({ domain }) => nodeUnschedulable(domain), weight: 0 }],
  ["NodeName", { make: nodeName, weight: 0 }],
  ["TaintToleration", { make: taintToleration, weight: 3 }],
  ["NodeAffinity", { make: (_handle, args) => nodeAffinity(args.addedAffinity), weight: 2 }],
  ["NodePorts", { make: nodePorts, weight: 0 }],
  ["NodeResourcesFit", { make: (handle, args) => nodeResourcesFit(handle, args.fit), weight: 1 }],
  ["VolumeBinding", { make: volumeBinding, weight: 0 }],
  [
    "PodTopologySpread",
    { make: (handle, args) => podTopologySpread(handle, args.spread), weight: 2 },
  ],
  [
    "InterPodAffinity",
    { make: (handle, args) => interPodAffinity(handle, args.affinity), weight: 2 },
  ],
  ["DynamicResources", { make: dynamicResources, weight: 0 }],
  [
    "DefaultPreemption",
    { make: (handle, args) => defaultPreemption(handle, args.preemption), weight: 0 },
  ],
  [
    "NodeResourcesBalancedAllocation",
    {
      make: (_handle, args) => nodeResourcesBalancedAllocation(args.balancedResources),
      weight: 1,
    },
  ],
  ["ImageLocality", { make: imageLocality, weight: 1 }],
  ["DefaultBinder", { make: defaultBinder, weight: 0 }],
]);
