/** Fields of the arguments of plugins, `NAMEArgs` of kubescheduler.config v1. */
import { nodeAffinity, topologySpreadConstraint } from "#api";
import { duration } from "#meta";
import { bool, type Infer, int32, int64, list, pointer, string, structs } from "#schema";

const v1 = structs("kube-scheduler/config/v1");

const resources = list(
  v1("ResourceSpec", "Weight of a resource.", {
    name: pointer(1, string, "Name of the resource."),
    weight: pointer(2, int64, "Weight of the resource; default 1."),
  }),
);

const shape = list(
  v1("UtilizationShapePoint", "Score at a utilization.", {
    utilization: pointer(1, int32, "Utilization in percent."),
    score: pointer(2, int32, "Score, 0 to 10."),
  }),
);

const scoringStrategy = v1("ScoringStrategy", "Strategy of the scores.", {
  type: pointer(1, string, "LeastAllocated, MostAllocated or RequestedToCapacityRatio."),
  resources: pointer(2, resources, "Resources to consider; default cpu and memory."),
  requestedToCapacityRatio: pointer(
    3,
    v1("RequestedToCapacityRatioParam", "Scores by utilization.", {
      shape: pointer(1, shape, "Points between which scores are linear."),
    }),
    "Arguments of RequestedToCapacityRatio.",
  ),
});

export const argsStructs = {
  DefaultPreemption: v1("DefaultPreemptionArgs", "Arguments of DefaultPreemption.", {
    minCandidateNodesPercentage: pointer(1, int32, "Minimum percentage of nodes to try."),
    minCandidateNodesAbsolute: pointer(2, int32, "Minimum number of nodes to try."),
  }),
  DynamicResources: v1("DynamicResourcesArgs", "Arguments of DynamicResources.", {
    filterTimeout: pointer(1, duration, "Timeout of the search on one node."),
  }),
  InterPodAffinity: v1("InterPodAffinityArgs", "Arguments of InterPodAffinity.", {
    hardPodAffinityWeight: pointer(1, int32, "Weight of required affinity terms of existing pods."),
    ignorePreferredTermsOfExistingPods: pointer(
      2,
      bool,
      "Whether preferred terms of existing pods are ignored.",
    ),
  }),
  NodeAffinity: v1("NodeAffinityArgs", "Arguments of NodeAffinity.", {
    addedAffinity: pointer(1, nodeAffinity, "Affinity of all pods of the profile."),
  }),
  NodeResourcesBalancedAllocation: v1(
    "NodeResourcesBalancedAllocationArgs",
    "Arguments of NodeResourcesBalancedAllocation.",
    { resources: pointer(1, resources, "Resources to consider; default cpu and memory.") },
  ),
  NodeResourcesFit: v1("NodeResourcesFitArgs", "Arguments of NodeResourcesFit.", {
    ignoredResources: pointer(1, list(string), "Extended resources that are not checked."),
    ignoredResourceGroups: pointer(
      2,
      list(string),
      "Domains of extended resources that are not checked.",
    ),
    scoringStrategy: pointer(3, scoringStrategy, "Strategy of the scores."),
  }),
  PodTopologySpread: v1("PodTopologySpreadArgs", "Arguments of PodTopologySpread.", {
    defaultConstraints: pointer(
      1,
      list(topologySpreadConstraint),
      "Constraints of pods without any.",
    ),
    defaultingType: pointer(2, string, "System or List."),
  }),
  VolumeBinding: v1("VolumeBindingArgs", "Arguments of VolumeBinding.", {
    bindTimeoutSeconds: pointer(1, int64, "Timeout of binding the claims of a pod."),
    shape: pointer(2, shape, "Scores by utilization; must be absent."),
  }),
} as const;

export type ArgsName = keyof typeof argsStructs;
export type ArgsOf<N extends ArgsName> = Infer<(typeof argsStructs)[N]>;
export type GivenArgs = { readonly [N in ArgsName]?: ArgsOf<N> };
export type ResourceSpecs = Infer<typeof resources>;
export type ShapePoints = Infer<typeof shape>;
