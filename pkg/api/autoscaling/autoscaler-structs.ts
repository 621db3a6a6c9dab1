/** HorizontalPodAutoscaler as it is stored, in v2. */
import {
  required,
  type Infer,
  int32,
  int64,
  list,
  named,
  pointer,
  value,
  string,
  structs,
} from "#schema";
import { labelSelector, objectMeta, quantity, time } from "#meta";

const v2 = structs("api/autoscaling/v2");
const atomic = { listType: "atomic" } as const;
const sourceTypes = ["Object", "Pods", "Resource", "ContainerResource", "External"];
const sourceType = named("v2.MetricSourceType", ...sourceTypes);

const metricTarget = v2("MetricTarget", "What a metric should be.", {
  type: required(
    1,
    named("v2.MetricTargetType", "Utilization", "Value", "AverageValue"),
    "Utilization, Value or AverageValue: which of the others counts.",
  ),
  value: pointer(2, quantity, "The whole, for everything together."),
  averageValue: pointer(3, quantity, "The average over all pods."),
  averageUtilization: pointer(4, int32, "The average as a percentage of what pods request."),
});

const metricValueStatus = v2("MetricValueStatus", "What a metric is.", {
  value: pointer(1, quantity, "The whole, for everything together."),
  averageValue: pointer(2, quantity, "The average over all pods."),
  averageUtilization: pointer(3, int32, "The average as a percentage of what pods request."),
});

const crossVersionObjectReference = v2(
  "CrossVersionObjectReference",
  "Points to an object in the same namespace.",
  {
    kind: required(1, string, "Kind of the object."),
    name: required(2, string, "Name of the object."),
    apiVersion: value(3, string, "Its group and version."),
  },
);

const metricIdentifier = v2("MetricIdentifier", "Which metric is meant.", {
  name: required(1, string, "Name of the metric."),
  selector: pointer(2, labelSelector, "Selects among series of that name."),
});

const target = (number: number) => required(number, metricTarget, "What it should be.");
const current = (number: number) => required(number, metricValueStatus, "What it is.");
const metric = (number: number) => required(number, metricIdentifier, "Which metric is meant.");
const described = (number: number) =>
  required(number, crossVersionObjectReference, "The object that the metric is of.");
const resourceName = required(1, string, "Name of the resource, as in cpu.");
const container = required(3, string, "Name of the container.");

const objectMetricSource = v2("ObjectMetricSource", "A metric of another object.", {
  describedObject: described(1),
  target: target(2),
  metric: metric(3),
});

const podsMetricSource = v2("PodsMetricSource", "A metric of each pod.", {
  metric: metric(1),
  target: target(2),
});

const resourceMetricSource = v2("ResourceMetricSource", "Use of a resource by the pods.", {
  name: resourceName,
  target: target(2),
});

const containerResourceMetricSource = v2(
  "ContainerResourceMetricSource",
  "Use of a resource by one container of each pod.",
  { name: resourceName, target: target(2), container },
);

const externalMetricSource = v2("ExternalMetricSource", "A metric from outside of the cluster.", {
  metric: metric(1),
  target: target(2),
});

const metricSpec = v2("MetricSpec", "A metric, and what it should be.", {
  type: required(1, sourceType, "Which of the others is set."),
  object: pointer(2, objectMetricSource, "A metric of another object."),
  pods: pointer(3, podsMetricSource, "A metric of each pod."),
  resource: pointer(4, resourceMetricSource, "Use of a resource by the pods."),
  containerResource: pointer(
    7,
    containerResourceMetricSource,
    "Use of a resource by one container of each pod.",
  ),
  external: pointer(5, externalMetricSource, "A metric from outside of the cluster."),
});

const objectMetricStatus = v2("ObjectMetricStatus", "A metric of another object.", {
  metric: metric(1),
  current: current(2),
  describedObject: described(3),
});

const podsMetricStatus = v2("PodsMetricStatus", "A metric of each pod.", {
  metric: metric(1),
  current: current(2),
});

const resourceMetricStatus = v2("ResourceMetricStatus", "Use of a resource by the pods.", {
  name: resourceName,
  current: current(2),
});

const containerResourceMetricStatus = v2(
  "ContainerResourceMetricStatus",
  "Use of a resource by one container of each pod.",
  { name: resourceName, current: current(2), container },
);

const externalMetricStatus = v2("ExternalMetricStatus", "A metric from outside of the cluster.", {
  metric: metric(1),
  current: current(2),
});

const metricStatus = v2("MetricStatus", "A metric, and what it is.", {
  type: required(1, sourceType, "Which of the others is set."),
  object: pointer(2, objectMetricStatus, "A metric of another object."),
  pods: pointer(3, podsMetricStatus, "A metric of each pod."),
  resource: pointer(4, resourceMetricStatus, "Use of a resource by the pods."),
  containerResource: pointer(
    7,
    containerResourceMetricStatus,
    "Use of a resource by one container of each pod.",
  ),
  external: pointer(5, externalMetricStatus, "A metric from outside of the cluster."),
});

const scalingPolicy = v2("HPAScalingPolicy", "How fast it may go.", {
  type: required(
    1,
    named("v2.HPAScalingPolicyType", "Pods", "Percent"),
    "Whether the value is a number of pods or a percentage.",
  ),
  value: required(2, int32, "Greatest change within the period."),
  periodSeconds: required(3, int32, "The period, at most 1800 seconds."),
});

const scalingRules = v2("HPAScalingRules", "How to scale in one direction.", {
  stabilizationWindowSeconds: pointer(
    3,
    int32,
    "Seconds of past recommendations to take into account, at most 3600.",
  ),
  selectPolicy: pointer(
    1,
    named("v2.ScalingPolicySelect", "Max", "Min", "Disabled"),
    "Which policy counts: the one of greatest change (Max), of least (Min), or Disabled.",
  ),
  policies: value(2, list(scalingPolicy), "How fast it may go.", { ...atomic, seesEmpty: true }),
  tolerance: pointer(4, quantity, "Deviations up to this share change nothing, as in 0.1.", {
    gate: "HPAConfigurableTolerance",
  }),
});

const behavior = v2("HorizontalPodAutoscalerBehavior", "How to scale.", {
  scaleUp: pointer(1, scalingRules, "How to scale up."),
  scaleDown: pointer(2, scalingRules, "How to scale down."),
});

const spec = v2("HorizontalPodAutoscalerSpec", "What to scale, by what, and how far.", {
  scaleTargetRef: required(1, crossVersionObjectReference, "The object to scale."),
  minReplicas: pointer(2, int32, "Fewest replicas.", { default: 1 }),
  maxReplicas: required(3, int32, "Most replicas."),
  metrics: value(4, list(metricSpec), "What decides; the greatest result counts.", atomic),
  behavior: pointer(5, behavior, "How to scale."),
});

const condition = v2("HorizontalPodAutoscalerCondition", "One thing that holds or does not.", {
  type: required(
    1,
    named(
      "v2.HorizontalPodAutoscalerConditionType",
      "ScalingActive",
      "AbleToScale",
      "ScalingLimited",
    ),
    "What it is about, as in AbleToScale.",
  ),
  status: required(2, string, "True, False or Unknown."),
  lastTransitionTime: value(3, time, "When the status last changed."),
  reason: value(4, string, "Why, in one word for machines."),
  message: value(5, string, "Why, in words."),
});

const status = v2("HorizontalPodAutoscalerStatus", "What was observed.", {
  observedGeneration: pointer(1, int64, "Generation that this is about."),
  lastScaleTime: pointer(2, time, "When the size last changed."),
  currentReplicas: value(3, int32, "Replicas when last looked."),
  desiredReplicas: required(4, int32, "Replicas that were found right."),
  currentMetrics: required(5, list(metricStatus), "What the metrics were.", {
    ...atomic,
    required: false,
  }),
  conditions: value(6, list(condition), "What holds.", {
    listType: "map",
    listMapKeys: ["type"],
    patchStrategy: ["merge"],
    patchMergeKey: "type",
  }),
});

export const horizontalPodAutoscalerV2 = v2(
  "HorizontalPodAutoscaler",
  "Scales an object up and down as metrics demand.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: value(2, spec, "What to scale, by what, and how far."),
    status: value(3, status, "What was observed."),
  },
);

export type Autoscaler = Infer<typeof horizontalPodAutoscalerV2>;
export type Metric = Infer<typeof metricSpec>;
export type MetricStatus = Infer<typeof metricStatus>;
export type MetricTarget = Infer<typeof metricTarget>;
export type MetricIdentifier = Infer<typeof metricIdentifier>;
export type Behavior = Infer<typeof behavior>;
export type ScalingRules = Infer<typeof scalingRules>;
export type ObjectReference = Infer<typeof crossVersionObjectReference>;
