/** Where pods may run. */
import { required, int32, list, named, pointer, value, string, structs } from "#schema";
import { labelSelector } from "#meta";

const v1 = structs("api/core/v1");

const nodeSelectorRequirement = v1(
  "NodeSelectorRequirement",
  "A condition on a label or field of a node.",
  {
    key: required(1, string, "Label key or field."),
    operator: required(
      2,
      named("v1.NodeSelectorOperator", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"),
      "In, NotIn, Exists, DoesNotExist, Gt or Lt.",
    ),
    values: value(3, list(string), "Values to compare with; one integer for Gt and Lt.", {
      listType: "atomic",
    }),
  },
);

export const nodeSelectorTerm = v1(
  "NodeSelectorTerm",
  "Conditions that must all hold; without any, it matches nothing.",
  {
    matchExpressions: value(1, list(nodeSelectorRequirement), "Conditions on labels.", {
      listType: "atomic",
    }),
    matchFields: value(2, list(nodeSelectorRequirement), "Conditions on fields.", {
      listType: "atomic",
    }),
  },
  { atomic: true },
);

export const nodeSelector = v1(
  "NodeSelector",
  "Nodes that at least one term matches.",
  {
    nodeSelectorTerms: required(1, list(nodeSelectorTerm), "The terms.", { listType: "atomic" }),
  },
  { atomic: true },
);

const preferredSchedulingTerm = v1(
  "PreferredSchedulingTerm",
  "Nodes that are better than others.",
  {
    weight: required(1, int32, "How much better, from 1 to 100."),
    preference: required(2, nodeSelectorTerm, "Which nodes."),
  },
);

export const nodeAffinity = v1("NodeAffinity", "Which nodes a pod may or would rather run on.", {
  requiredDuringSchedulingIgnoredDuringExecution: pointer(
    1,
    nodeSelector,
    "Nodes that it may run on.",
  ),
  preferredDuringSchedulingIgnoredDuringExecution: value(
    2,
    list(preferredSchedulingTerm),
    "Nodes that it would rather run on.",
    { listType: "atomic" },
  ),
});

export const podAffinityTerm = v1("PodAffinityTerm", "Pods, and what counts as the same place.", {
  labelSelector: pointer(1, labelSelector, "Which pods; absent means none."),
  namespaces: value(2, list(string), "Namespaces of those pods.", { listType: "atomic" }),
  topologyKey: required(3, string, "Node label whose value tells places apart."),
  namespaceSelector: pointer(4, labelSelector, "Namespaces by label, in addition to `namespaces`."),
  matchLabelKeys: value(5, list(string), "Labels in which those pods must be like this one.", {
    listType: "atomic",
  }),
  mismatchLabelKeys: value(6, list(string), "Labels in which those pods must be unlike this one.", {
    listType: "atomic",
  }),
});

const weightedPodAffinityTerm = v1(
  "WeightedPodAffinityTerm",
  "A preference for or against places.",
  {
    weight: required(1, int32, "How strong it is, from 1 to 100."),
    podAffinityTerm: required(2, podAffinityTerm, "Pods and places."),
  },
);

export const podAffinity = v1("PodAffinity", "Pods to be near to.", {
  requiredDuringSchedulingIgnoredDuringExecution: value(
    1,
    list(podAffinityTerm),
    "Pods that must be in the same place.",
    { listType: "atomic" },
  ),
  preferredDuringSchedulingIgnoredDuringExecution: value(
    2,
    list(weightedPodAffinityTerm),
    "Pods that would better be in the same place.",
    { listType: "atomic" },
  ),
});

export const podAntiAffinity = v1("PodAntiAffinity", "Pods to be away from.", {
  requiredDuringSchedulingIgnoredDuringExecution: value(
    1,
    list(podAffinityTerm),
    "Pods that must not be in the same place.",
    { listType: "atomic" },
  ),
  preferredDuringSchedulingIgnoredDuringExecution: value(
    2,
    list(weightedPodAffinityTerm),
    "Pods that would better not be in the same place.",
    { listType: "atomic" },
  ),
});

export const affinity = v1("Affinity", "What draws a pod to places or keeps it away.", {
  nodeAffinity: pointer(1, nodeAffinity, "Which nodes."),
  podAffinity: pointer(2, podAffinity, "Pods to be near to."),
  podAntiAffinity: pointer(3, podAntiAffinity, "Pods to be away from."),
});

export const topologySpreadConstraint = v1(
  "TopologySpreadConstraint",
  "How evenly pods are spread over places.",
  {
    maxSkew: required(1, int32, "Largest difference between two places."),
    topologyKey: required(2, string, "Node label whose value tells places apart."),
    whenUnsatisfiable: required(
      3,
      named("v1.UnsatisfiableConstraintAction", "DoNotSchedule", "ScheduleAnyway"),
      "DoNotSchedule or ScheduleAnyway.",
    ),
    labelSelector: pointer(4, labelSelector, "Which pods are counted."),
    minDomains: pointer(5, int32, "Least number of places."),
    nodeAffinityPolicy: pointer(
      6,
      named("v1.NodeInclusionPolicy", "Ignore", "Honor"),
      "Whether node affinity decides which places count: Honor or Ignore.",
    ),
    nodeTaintsPolicy: pointer(
      7,
      named("v1.NodeInclusionPolicy", "Ignore", "Honor"),
      "Whether taints decide which places count: Honor or Ignore.",
    ),
    matchLabelKeys: value(8, list(string), "Labels in which counted pods must be like this one.", {
      listType: "atomic",
    }),
  },
);

export const podReadinessGate = v1(
  "PodReadinessGate",
  "A condition that a pod needs to be ready.",
  {
    conditionType: required(1, named("v1.PodConditionType"), "Type of the condition."),
  },
);

export const podSchedulingGate = v1(
  "PodSchedulingGate",
  "Something that keeps a pod from being scheduled.",
  {
    name: required(1, string, "Name, unique within the pod."),
  },
);

export const podResourceClaim = v1("PodResourceClaim", "A resource claim of a pod.", {
  name: required(1, string, "Name by which containers refer to it."),
  resourceClaimName: pointer(3, string, "Claim that exists already."),
  resourceClaimTemplateName: pointer(4, string, "Template of a claim to be made for the pod."),
});
