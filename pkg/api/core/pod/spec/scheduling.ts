/** Structs of scheduling constraints: affinity, topology spread, gates. */
import { required, int32, list, named, pointer, value, string, structs } from "#schema";
import { labelSelector } from "#meta";

const v1 = structs("api/core/v1");

const nodeSelectorRequirement = v1(
  "NodeSelectorRequirement",
  "Condition on a label or field of a node.",
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
      "Values to compare with. Required for In and NotIn, empty for Exists and DoesNotExist, " +
        "a single integer for Gt and Lt.",
      {
        listType: "atomic",
      },
    ),
  },
);

export const nodeSelectorTerm = v1(
  "NodeSelectorTerm",
  "Conditions on a node, all of which must hold. A term without conditions matches nothing.",
  {
    matchExpressions: value(1, list(nodeSelectorRequirement), "Conditions on labels of the node.", {
      listType: "atomic",
    }),
    matchFields: value(
      2,
      list(nodeSelectorRequirement),
      "Conditions on fields of the node: only metadata.name is supported.",
      {
        listType: "atomic",
      },
    ),
  },
  { atomic: true },
);

export const nodeSelector = v1(
  "NodeSelector",
  "Selects nodes by alternative terms.",
  {
    nodeSelectorTerms: required(
      1,
      list(nodeSelectorTerm),
      "Terms, of which a node must match at least one.",
      { listType: "atomic" },
    ),
  },
  { atomic: true },
);

const preferredSchedulingTerm = v1(
  "PreferredSchedulingTerm",
  "Nodes that are preferred, with the weight of the preference.",
  {
    weight: required(1, int32, "Weight to add to the score of a matching node, 1 to 100."),
    preference: required(2, nodeSelectorTerm, "Nodes that get the weight."),
  },
);

export const nodeAffinity = v1("NodeAffinity", "Node constraints and preferences of a pod.", {
  requiredDuringSchedulingIgnoredDuringExecution: pointer(
    1,
    nodeSelector,
    "Nodes that may run the pod. Later changes of node labels do not evict it.",
  ),
  preferredDuringSchedulingIgnoredDuringExecution: value(
    2,
    list(preferredSchedulingTerm),
    "Nodes to prefer. The scheduler adds up the weights of matching terms; it may still " +
      "choose another node.",
    { listType: "atomic" },
  ),
});

export const podAffinityTerm = v1(
  "PodAffinityTerm",
  "Set of pods, and the topology domain in which to look for them.",
  {
    labelSelector: pointer(
      1,
      labelSelector,
      "Selects the pods by label. {} selects all; absent selects none.",
    ),
    namespaces: value(
      2,
      list(string),
      "Names of the namespaces of these pods, combined with namespaceSelector. When both are " +
        "absent, the namespace of the pod.",
      { listType: "atomic" },
    ),
    topologyKey: required(
      3,
      string,
      "Key of the node label whose value defines a topology domain, such as the host name or " +
        "zone label. Required.",
    ),
    namespaceSelector: pointer(
      4,
      labelSelector,
      "Selects the namespaces of these pods by label, combined with namespaces. {} selects all.",
    ),
    matchLabelKeys: value(
      5,
      list(string),
      "Label keys whose values are taken from the incoming pod and added to labelSelector " +
        "with operator In. Requires labelSelector.",
      {
        listType: "atomic",
      },
    ),
    mismatchLabelKeys: value(
      6,
      list(string),
      "Label keys whose values are taken from the incoming pod and added to labelSelector " +
        "with operator NotIn. Requires labelSelector.",
      {
        listType: "atomic",
      },
    ),
  },
);

const weightedPodAffinityTerm = v1("WeightedPodAffinityTerm", "Preference with its weight.", {
  weight: required(
    1,
    int32,
    "Weight to add to the score of a node whose domain matches, 1 to 100.",
  ),
  podAffinityTerm: required(2, podAffinityTerm, "Pods that the preference refers to."),
});

export const podAffinity = v1("PodAffinity", "Co-location constraints and preferences of a pod.", {
  requiredDuringSchedulingIgnoredDuringExecution: value(
    1,
    list(podAffinityTerm),
    "Pods that must already run in the topology domain of the node; all terms must hold. " +
      "Checked at scheduling only.",
    { listType: "atomic" },
  ),
  preferredDuringSchedulingIgnoredDuringExecution: value(
    2,
    list(weightedPodAffinityTerm),
    "Pods in whose topology domain the pod should preferably run, with weights.",
    { listType: "atomic" },
  ),
});

export const podAntiAffinity = v1(
  "PodAntiAffinity",
  "Separation constraints and preferences of a pod.",
  {
    requiredDuringSchedulingIgnoredDuringExecution: value(
      1,
      list(podAffinityTerm),
      "Pods that must not run in the topology domain of the node; no term may match. Checked " +
        "at scheduling only.",
      { listType: "atomic" },
    ),
    preferredDuringSchedulingIgnoredDuringExecution: value(
      2,
      list(weightedPodAffinityTerm),
      "Pods in whose topology domain the pod should preferably not run, with weights.",
      { listType: "atomic" },
    ),
  },
);

export const affinity = v1(
  "Affinity",
  "Scheduling constraints of a pod: relations to nodes and to other pods.",
  {
    nodeAffinity: pointer(1, nodeAffinity, "Constraints on labels of the node."),
    podAffinity: pointer(2, podAffinity, "Pods to be placed near to."),
    podAntiAffinity: pointer(3, podAntiAffinity, "Pods to be placed apart from."),
  },
);

export const topologySpreadConstraint = v1(
  "TopologySpreadConstraint",
  "Limits how unevenly matching pods may be spread over topology domains.",
  {
    maxSkew: required(
      1,
      int32,
      "Largest difference allowed between the matching pods in a domain and the minimum over " +
        "all domains. With ScheduleAnyway, domains that reduce it are preferred. At least 1. " +
        "Required.",
    ),
    topologyKey: required(
      2,
      string,
      "Key of the node label whose value defines a topology domain. Nodes without it do not " +
        "count. Required.",
    ),
    whenUnsatisfiable: required(
      3,
      named("v1.UnsatisfiableConstraintAction", "DoNotSchedule", "ScheduleAnyway"),
      "What to do when the constraint cannot be met: one of DoNotSchedule, ScheduleAnyway " +
        "(prefer nodes that reduce the skew). Required.",
    ),
    labelSelector: pointer(
      4,
      labelSelector,
      "Selects the pods to count, in the namespace of the pod.",
    ),
    minDomains: pointer(
      5,
      int32,
      "Smallest number of eligible domains. With fewer, the minimum counts as 0. Requires " +
        "whenUnsatisfiable DoNotSchedule. Behaves as 1 when absent.",
    ),
    nodeAffinityPolicy: pointer(
      6,
      named("v1.NodeInclusionPolicy", "Ignore", "Honor"),
      "Whether only nodes that match nodeAffinity and nodeSelector of the pod count: one of " +
        "Honor, Ignore. Behaves as Honor when absent.",
    ),
    nodeTaintsPolicy: pointer(
      7,
      named("v1.NodeInclusionPolicy", "Ignore", "Honor"),
      "Whether only nodes whose taints the pod tolerates count: one of Honor, Ignore. " +
        "Behaves as Ignore when absent.",
    ),
    matchLabelKeys: value(
      8,
      list(string),
      "Label keys whose values are taken from the incoming pod to select the pods to count, " +
        "in addition to labelSelector. Useful with pod-template-hash. Beta: feature gate " +
        "MatchLabelKeysInPodTopologySpread.",
      {
        listType: "atomic",
      },
    ),
  },
);

export const podReadinessGate = v1(
  "PodReadinessGate",
  "Additional condition for the readiness of a pod.",
  {
    conditionType: required(
      1,
      named("v1.PodConditionType"),
      "Type of a pod condition that must be True.",
    ),
  },
);

export const podSchedulingGate = v1(
  "PodSchedulingGate",
  "Gate that keeps a pod from being scheduled.",
  {
    name: required(1, string, "Name of the gate, a qualified name that is unique within the pod."),
  },
);

export const podResourceClaim = v1(
  "PodResourceClaim",
  "ResourceClaim that a pod needs. Exactly one of resourceClaimName and " +
    "resourceClaimTemplateName must be set.",
  {
    name: required(1, string, "Name by which containers refer to the claim, a DNS label."),
    resourceClaimName: pointer(
      3,
      string,
      "Existing ResourceClaim in the namespace of the pod. Mutually exclusive with " +
        "resourceClaimTemplateName.",
    ),
    resourceClaimTemplateName: pointer(
      4,
      string,
      "Template in the namespace of the pod from which a ResourceClaim is created; it is " +
        "deleted together with the pod. Mutually exclusive with resourceClaimName.",
    ),
  },
);
