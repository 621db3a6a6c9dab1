import type { NodeAffinity } from "#kinds";
import type { PreemptionArgs } from "../plugins/default-preemption/plugin.ts";
import type { DynamicResourcesArgs } from "../plugins/dynamic-resources/plugin.ts";
import type { AffinityArgs } from "../plugins/inter-pod-affinity/namespace-resolver.ts";
import type { ResourceSpec } from "../plugins/node-resources/allocation.ts";
import type { FitArgs } from "../plugins/node-resources/fit.ts";
import type { SpreadArgs } from "../plugins/pod-topology-spread/constraints.ts";
import type { ResolvedPlugins } from "../framework/extension-points.ts";
import type { VolumeBindingArgs } from "../plugins/volume-binding/plugin.ts";
import type { ExtenderOptions } from "../extenders/extender-options.ts";

/** Arguments of all plugins of a profile. */
export interface PluginArgs {
  readonly addedAffinity: NodeAffinity | undefined;
  readonly fit: FitArgs;
  readonly balancedResources: readonly ResourceSpec[];
  readonly spread: SpreadArgs;
  readonly affinity: AffinityArgs;
  readonly preemption: PreemptionArgs;
  readonly volumeBinding: VolumeBindingArgs;
  readonly devices: DynamicResourcesArgs;
}

export interface Profile {
  readonly schedulerName: string;
  /** Absent = that of the scheduler. */
  readonly percentageOfNodesToScore?: number;
  readonly plugins: ResolvedPlugins;
  readonly args: PluginArgs;
}

export interface SchedulerSettings {
  readonly profiles: readonly Profile[];
  /** HTTP extenders. */
  readonly extenders: readonly ExtenderOptions[];
  /** Percentage of nodes to find feasible; 0 = adaptive to the number of nodes. */
  readonly percentageOfNodesToScore: number;
  readonly podInitialBackoffMs: number;
  readonly podMaxBackoffMs: number;
}

const cpuAndMemory = [
  { name: "cpu", weight: 1 },
  { name: "memory", weight: 1 },
] as const;

export const defaultPluginArgs: PluginArgs = {
  addedAffinity: undefined,
  fit: {
    ignoredResources: [],
    ignoredResourceGroups: [],
    scoringStrategy: { type: "LeastAllocated", resources: cpuAndMemory, shape: [] },
  },
  balancedResources: cpuAndMemory,
  spread: { defaultConstraints: [], defaultingType: "System" },
  affinity: { hardPodAffinityWeight: 1, ignorePreferredTermsOfExistingPods: false },
  volumeBinding: { bindTimeoutMs: 600_000 },
  preemption: { minCandidateNodesPercentage: 10, minCandidateNodesAbsolute: 100 },
  devices: { filterTimeoutMs: 10_000 },
};
