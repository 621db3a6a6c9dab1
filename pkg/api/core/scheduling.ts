/** Where pods may run. */
import { always, int32, list, named, optional, plain, string, structs } from "#schema";
import { labelSelector } from "#meta";

const v1 = structs("api/core/v1");

const nodeSelectorRequirement = v1(
  "NodeSelectorRequirement",
  "A condition on a label or field of a node.",
  {
    key: always(1, string, "Label key or field."),
    operator: always(
      2,
      named("v1.NodeSelectorOperator", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"),
      "In, NotIn, Exists, DoesNotExist, Gt or Lt.",
    ),
    values: plain(3, list(string), "Values to compare with; one integer for Gt and Lt.", {
      listType: "atomic",
    }),
  },
);

export const nodeSelectorTerm = v1(
  "NodeSelectorTerm",
  "Conditions that must all hold; without any, it matches nothing.",
  {
    matchExpressions: plain(1, list(nodeSelectorRequirement), "Conditions on labels.", {
      listType: "atomic",
    }),
    matchFields: plain(2, list(nodeSelectorRequirement), "Conditions on fields.", {
      listType: "atomic",
    }),
  },
  { atomic: true },
);

export const nodeSelector = v1(
  "NodeSelector",
  "Nodes that at least one term matches.",
  {
    nodeSelectorTerms: always(1, list(nodeSelectorTerm), "The terms.", { listType: "atomic" }),
  },
  { atomic: true },
);

const preferredSchedulingTerm = v1(
  "PreferredSchedulingTerm",
  "Nodes that are better than others.",
  {
    weight: always(1, int32, "How much better, from 1 to 100."),
    preference: always(2, nodeSelectorTerm, "Which nodes."),
  },
);

export const nodeAffinity = v1("NodeAffinity", "Which nodes a pod may or would rather run on.", {
  requiredDuringSchedulingIgnoredDuringExecution: optional(
    1,
    nodeSelector,
    "Nodes that it may run on.",
  ),
  preferredDuringSchedulingIgnoredDuringExecution: plain(
    2,
    list(preferredSchedulingTerm),
    "Nodes that it would rather run on.",
    { listType: "atomic" },
  ),
});

export const podAffinityTerm = v1("PodAffinityTerm", "Pods, and what counts as the same place.", {
  labelSelector: optional(1, labelSelector, "Which pods; absent means none."),
  namespaces: plain(2, list(string), "Namespaces of those pods.", { listType: "atomic" }),
  topologyKey: always(3, string, "Node label whose value tells places apart."),
  namespaceSelector: optional(
    4,
    labelSelector,
    "Namespaces by label, in addition to `namespaces`.",
  ),
  matchLabelKeys: plain(5, list(string), "Labels in which those pods must be like this one.", {
    listType: "atomic",
  }),
  mismatchLabelKeys: plain(6, list(string), "Labels in which those pods must be unlike this one.", {
    listType: "atomic",
  }),
});

const weightedPodAffinityTerm = v1(
  "WeightedPodAffinityTerm",
  "A preference for or against places.",
  {
    weight: always(1, int32, "How strong it is, from 1 to 100."),
    podAffinityTerm: always(2, podAffinityTerm, "Pods and places."),
  },
);

export const podAffinity = v1("PodAffinity", "Pods to be near to.", {
  requiredDuringSchedulingIgnoredDuringExecution: plain(
    1,
    list(podAffinityTerm),
    "Pods that must be in the same place.",
    { listType: "atomic" },
  ),
  preferredDuringSchedulingIgnoredDuringExecution: plain(
    2,
    list(weightedPodAffinityTerm),
    "Pods that would better be in the same place.",
    { listType: "atomic" },
  ),
});

export const podAntiAffinity = v1("PodAntiAffinity", "Pods to be away from.", {
  requiredDuringSchedulingIgnoredDuringExecution: plain(
    1,
    list(podAffinityTerm),
    "Pods that must not be in the same place.",
    { listType: "atomic" },
  ),
  preferredDuringSchedulingIgnoredDuringExecution: plain(
    2,
    list(weightedPodAffinityTerm),
    "Pods that would better not be in the same place.",
    { listType: "atomic" },
  ),
});

export const affinity = v1("Affinity", "What draws a pod to places or keeps it away.", {
  nodeAffinity: optional(1, nodeAffinity, "Which nodes."),
  podAffinity: optional(2, podAffinity, "Pods to be near to."),
  podAntiAffinity: optional(3, podAntiAffinity, "Pods to be away from."),
});

export const topologySpreadConstraint = v1(
  "TopologySpreadConstraint",
  "How evenly pods are spread over places.",
  {
    maxSkew: always(1, int32, "Largest difference between two places."),
    topologyKey: always(2, string, "Node label whose value tells places apart."),
    whenUnsatisfiable: always(
      3,
      named("v1.UnsatisfiableConstraintAction", "DoNotSchedule", "ScheduleAnyway"),
      "DoNotSchedule or ScheduleAnyway.",
    ),
    labelSelector: optional(4, labelSelector, "Which pods are counted."),
    minDomains: optional(5, int32, "Least number of places."),
    nodeAffinityPolicy: optional(
      6,
      named("v1.NodeInclusionPolicy", "Ignore", "Honor"),
      "Whether node affinity decides which places count: Honor or Ignore.",
    ),
    nodeTaintsPolicy: optional(
      7,
      named("v1.NodeInclusionPolicy", "Ignore", "Honor"),
      "Whether taints decide which places count: Honor or Ignore.",
    ),
    matchLabelKeys: plain(8, list(string), "Labels in which counted pods must be like this one.", {
      listType: "atomic",
    }),
  },
);

export const podReadinessGate = v1(
  "PodReadinessGate",
  "A condition that a pod needs to be ready.",
  {
    conditionType: always(1, named("v1.PodConditionType"), "Type of the condition."),
  },
);

export const podSchedulingGate = v1(
  "PodSchedulingGate",
  "Something that keeps a pod from being scheduled.",
  {
    name: always(1, string, "Name, unique within the pod."),
  },
);

export const podResourceClaim = v1("PodResourceClaim", "A resource claim of a pod.", {
  name: always(1, string, "Name by which containers refer to it."),
  resourceClaimName: optional(3, string, "Claim that exists already."),
  resourceClaimTemplateName: optional(4, string, "Template of a claim to be made for the pod."),
});
