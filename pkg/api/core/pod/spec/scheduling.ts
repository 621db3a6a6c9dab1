/** Structs of scheduling constraints: affinity, topology spread, gates. */
import { required, int32, list, named, pointer, value, string, structs } from "#schema";
import { labelSelector } from "#meta";

const v1 = structs("api/core/v1");

const nodeSelectorRequirement = v1(
  "NodeSelectorRequirement",
  "Requirement on a label or field of a node: key, operator and values.",
  {
    key: required(1, string, "Label key, or name of the field."),
    operator: required(
      2,
      named("v1.NodeSelectorOperator", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"),
      "Relationship of the key to the values: one of In, NotIn, Exists, DoesNotExist, Gt, Lt.",
    ),
    values: value(
      3,
      list(string),
      "Values to compare with. Must be nonempty for In and NotIn, empty for Exists and " +
        "DoesNotExist, and a single integer for Gt and Lt.",
      {
        listType: "atomic",
      },
    ),
  },
);

export const nodeSelectorTerm = v1(
  "NodeSelectorTerm",
  "Requirements on a node, which are ANDed. An empty term matches no nodes.",
  {
    matchExpressions: value(
      1,
      list(nodeSelectorRequirement),
      "Requirements on the labels of the node.",
      {
        listType: "atomic",
      },
    ),
    matchFields: value(
      2,
      list(nodeSelectorRequirement),
      "Requirements on fields of the node. Only metadata.name is supported.",
      {
        listType: "atomic",
      },
    ),
  },
  { atomic: true },
);

export const nodeSelector = v1(
  "NodeSelector",
  "Selects nodes: the terms are ORed.",
  {
    nodeSelectorTerms: required(
      1,
      list(nodeSelectorTerm),
      "Node selector terms. A node must match at least one of them.",
      { listType: "atomic" },
    ),
  },
  { atomic: true },
);

const preferredSchedulingTerm = v1(
  "PreferredSchedulingTerm",
  "Preferred nodes and the weight of the preference.",
  {
    weight: required(1, int32, "Weight of the term in the score of a node, 1 to 100."),
    preference: required(
      2,
      nodeSelectorTerm,
      "Node selector term that a node must match to get the weight.",
    ),
  },
);

export const nodeAffinity = v1("NodeAffinity", "Node affinity rules of a pod.", {
  requiredDuringSchedulingIgnoredDuringExecution: pointer(
    1,
    nodeSelector,
    "Nodes on which the pod can be scheduled. Ignored after scheduling: later changes of node " +
      "labels do not evict the pod.",
  ),
  preferredDuringSchedulingIgnoredDuringExecution: value(
    2,
    list(preferredSchedulingTerm),
    "Preferred nodes: the scheduler adds the weights of all matching terms to the score of a " +
      "node, but may choose another one.",
    { listType: "atomic" },
  ),
});

export const podAffinityTerm = v1(
  "PodAffinityTerm",
  "Set of pods and the topology domain that affinity or anti-affinity refers to.",
  {
    labelSelector: pointer(
      1,
      labelSelector,
      "Label query over the pods. {} selects all; absent selects none.",
    ),
    namespaces: value(
      2,
      list(string),
      "Namespaces of the pods, in addition to those of namespaceSelector. If both are empty, " +
        "the namespace of this pod.",
      { listType: "atomic" },
    ),
    topologyKey: required(
      3,
      string,
      "Key of the node label that defines the topology domains, for example that of the zone. " +
        "Nodes with the same value are in the same domain. Required.",
    ),
    namespaceSelector: pointer(
      4,
      labelSelector,
      "Label query over the namespaces of the pods, in addition to namespaces. {} selects all; " +
        "absent selects none.",
    ),
    matchLabelKeys: value(
      5,
      list(string),
      "Keys of labels of the incoming pod that are merged with their values into " +
        "labelSelector, with operator In. Requires labelSelector.",
      {
        listType: "atomic",
      },
    ),
    mismatchLabelKeys: value(
      6,
      list(string),
      "Keys of labels of the incoming pod that are merged with their values into " +
        "labelSelector, with operator NotIn. Requires labelSelector.",
      {
        listType: "atomic",
      },
    ),
  },
);

const weightedPodAffinityTerm = v1(
  "WeightedPodAffinityTerm",
  "Preferred pod affinity term and its weight.",
  {
    weight: required(1, int32, "Weight of the affinity term in the score of a node, 1 to 100."),
    podAffinityTerm: required(2, podAffinityTerm, "Pod affinity term that the weight belongs to."),
  },
);

export const podAffinity = v1("PodAffinity", "Pod affinity rules: co-location with other pods.", {
  requiredDuringSchedulingIgnoredDuringExecution: value(
    1,
    list(podAffinityTerm),
    "Required co-location: the node must be in a topology domain where pods that match are " +
      "running, for every term. Checked on scheduling only.",
    { listType: "atomic" },
  ),
  preferredDuringSchedulingIgnoredDuringExecution: value(
    2,
    list(weightedPodAffinityTerm),
    "Preferred co-location: the scheduler adds the weights of matching terms to the score of a " +
      "node.",
    { listType: "atomic" },
  ),
});

export const podAntiAffinity = v1(
  "PodAntiAffinity",
  "Pod anti-affinity rules: separation from other pods.",
  {
    requiredDuringSchedulingIgnoredDuringExecution: value(
      1,
      list(podAffinityTerm),
      "Required separation: the node must not be in a topology domain where pods that match " +
        "any term are running. Checked on scheduling only.",
      { listType: "atomic" },
    ),
    preferredDuringSchedulingIgnoredDuringExecution: value(
      2,
      list(weightedPodAffinityTerm),
      "Preferred separation: the scheduler subtracts the weights of matching terms from the " +
        "score of a node.",
      { listType: "atomic" },
    ),
  },
);

export const affinity = v1(
  "Affinity",
  "Scheduling constraints of a pod, by labels of nodes and of other pods.",
  {
    nodeAffinity: pointer(
      1,
      nodeAffinity,
      "Node affinity: nodes on which the pod may or should run.",
    ),
    podAffinity: pointer(
      2,
      podAffinity,
      "Pod affinity: pods near which the pod must or should run, for example in the same zone.",
    ),
    podAntiAffinity: pointer(
      3,
      podAntiAffinity,
      "Pod anti-affinity: pods near which the pod must not or should not run.",
    ),
  },
);

export const topologySpreadConstraint = v1(
  "TopologySpreadConstraint",
  "Limits how unevenly matching pods are spread across topology domains.",
  {
    maxSkew: required(
      1,
      int32,
      "Maximum difference between the matching pods in a domain and the minimum over all " +
        "eligible domains. With ScheduleAnyway, domains that reduce the skew are preferred. At " +
        "least 1. Required.",
    ),
    topologyKey: required(
      2,
      string,
      "Key of the node label that defines the topology domains. Nodes without the label do not " +
        "count. Required.",
    ),
    whenUnsatisfiable: required(
      3,
      named("v1.UnsatisfiableConstraintAction", "DoNotSchedule", "ScheduleAnyway"),
      "What to do with a pod that does not satisfy the constraint: one of DoNotSchedule, " +
        "ScheduleAnyway (prefer nodes that reduce the skew). Required.",
    ),
    labelSelector: pointer(
      4,
      labelSelector,
      "Label query over the pods to count, in the namespace of this pod.",
    ),
    minDomains: pointer(
      5,
      int32,
      "Minimum number of eligible domains. With fewer domains, the global minimum is taken as " +
        "0. Requires whenUnsatisfiable DoNotSchedule. Behaves as 1 when absent.",
    ),
    nodeAffinityPolicy: pointer(
      6,
      named("v1.NodeInclusionPolicy", "Ignore", "Honor"),
      "Treatment of the pod's nodeAffinity and nodeSelector: one of Honor (only matching nodes " +
        "count), Ignore (all nodes count). Behaves as Honor when absent.",
    ),
    nodeTaintsPolicy: pointer(
      7,
      named("v1.NodeInclusionPolicy", "Ignore", "Honor"),
      "Treatment of node taints: one of Honor (only nodes without taints, or with tolerated " +
        "ones, count), Ignore (all nodes count). Behaves as Ignore when absent.",
    ),
    matchLabelKeys: value(
      8,
      list(string),
      "Keys of labels of the incoming pod that are merged with their values into " +
        "labelSelector, for example pod-template-hash. Requires labelSelector. Beta: feature " +
        "gate MatchLabelKeysInPodTopologySpread.",
      {
        listType: "atomic",
      },
    ),
  },
);

export const podReadinessGate = v1(
  "PodReadinessGate",
  "Reference to a pod condition that must be True for the pod to be ready.",
  {
    conditionType: required(
      1,
      named("v1.PodConditionType"),
      "Type of a condition in the status of the pod.",
    ),
  },
);

export const podSchedulingGate = v1(
  "PodSchedulingGate",
  "Scheduling gate: blocks the scheduling of a pod until it is removed.",
  {
    name: required(
      1,
      string,
      "Name of the scheduling gate, a qualified name that is unique within the pod.",
    ),
  },
);

export const podResourceClaim = v1(
  "PodResourceClaim",
  "ResourceClaim that a pod uses, either an existing one or one created from a template. " +
    "Exactly one of the two names must be set.",
  {
    name: required(
      1,
      string,
      "Name of the entry, a DNS label that is unique within the pod. Containers refer to it in " +
        "resources.claims.",
    ),
    resourceClaimName: pointer(
      3,
      string,
      "Name of a ResourceClaim in the namespace of the pod. Mutually exclusive with " +
        "resourceClaimTemplateName.",
    ),
    resourceClaimTemplateName: pointer(
      4,
      string,
      "Name of a ResourceClaimTemplate in the namespace of the pod. A ResourceClaim is created " +
        "from it and deleted with the pod. Mutually exclusive with resourceClaimName.",
    ),
  },
);
