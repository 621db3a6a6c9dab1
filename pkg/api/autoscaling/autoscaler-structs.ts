/** HorizontalPodAutoscaler v2, the storage version. */
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

const metricTarget = v2("MetricTarget", "Value that the autoscaler tries to keep a metric at.", {
  type: required(
    1,
    named("v2.MetricTargetType", "Utilization", "Value", "AverageValue"),
    "Which field holds the target. One of Utilization (averageUtilization), Value (value), " +
      "AverageValue (averageValue).",
    { openApi: { enum: false } },
  ),
  value: pointer(2, quantity, "Target of the metric as a whole. Must be positive."),
  averageValue: pointer(3, quantity, "Target for the average over all pods. Must be positive."),
  averageUtilization: pointer(
    4,
    int32,
    "Target for the average over all pods, in percent of the resource requests. Only for " +
      "resource metrics. Must be positive.",
  ),
});

const metricValueStatus = v2("MetricValueStatus", "Value of a metric when it was last read.", {
  value: pointer(1, quantity, "Value of the metric as a whole."),
  averageValue: pointer(2, quantity, "Average over all pods, as an amount."),
  averageUtilization: pointer(
    3,
    int32,
    "Average over all pods, in percent of the resource requests.",
  ),
});

const crossVersionObjectReference = v2(
  "CrossVersionObjectReference",
  "Reference to an object in the same namespace.",
  {
    kind: required(1, string, "Kind of the object, for example Deployment."),
    name: required(2, string, "Name of the referenced object."),
    apiVersion: value(3, string, "API group and version of the object, for example apps/v1."),
  },
);

const metricIdentifier = v2(
  "MetricIdentifier",
  "Name of a metric and, optionally, which of its series to use.",
  {
    name: required(1, string, "Name of the metric in the metrics API."),
    selector: pointer(
      2,
      labelSelector,
      "Label selector passed to the metrics API to narrow down the series. When absent, the " +
        "name alone decides.",
    ),
  },
);

const target = (number: number) => required(number, metricTarget, "Value to scale towards.");
const current = (number: number) =>
  required(number, metricValueStatus, "Most recent value of the metric.");
const metric = (number: number) =>
  required(number, metricIdentifier, "Metric that is read, by name and selector.");
const described = (number: number) =>
  required(number, crossVersionObjectReference, "Object that the metric describes.");
const resourceName = required(
  1,
  named("v1.ResourceName"),
  "Name of the resource: cpu, memory or an extended resource.",
);
const container = required(3, string, "Name of the container in the pods of the target.");

const objectMetricSource = v2(
  "ObjectMetricSource",
  "Metric that describes one Kubernetes object, for example hits per second of an Ingress.",
  {
    describedObject: described(1),
    target: target(2),
    metric: metric(3),
  },
);

const podsMetricSource = v2(
  "PodsMetricSource",
  "Metric that every pod of the target reports, averaged before it is compared. The " +
    "target type must be AverageValue.",
  {
    metric: metric(1),
    target: target(2),
  },
);

const resourceMetricSource = v2(
  "ResourceMetricSource",
  "Usage of a compute resource by the pods, relative to their requests or absolute.",
  {
    name: resourceName,
    target: target(2),
  },
);

const containerResourceMetricSource = v2(
  "ContainerResourceMetricSource",
  "Usage of a compute resource by one container in each pod.",
  { name: resourceName, target: target(2), container },
);

const externalMetricSource = v2(
  "ExternalMetricSource",
  "Metric from outside the cluster, for example the length of a cloud queue.",
  {
    metric: metric(1),
    target: target(2),
  },
);

const metricSpec = v2("MetricSpec", "One metric to scale on, with its target.", {
  type: required(
    1,
    sourceType,
    "Source of the metric: one of Object, Pods, Resource, ContainerResource, External. The " +
      "field of the same name must be set.",
    { openApi: { enum: false } },
  ),
  object: pointer(
    2,
    objectMetricSource,
    "Metric of a single object in the namespace, for type Object.",
  ),
  pods: pointer(3, podsMetricSource, "Metric reported by each pod of the target, for type Pods."),
  resource: pointer(
    4,
    resourceMetricSource,
    "CPU, memory or another resource used by the pods of the target, for type Resource.",
  ),
  containerResource: pointer(
    7,
    containerResourceMetricSource,
    "Resource used by one named container of each pod, for type ContainerResource.",
  ),
  external: pointer(
    5,
    externalMetricSource,
    "Metric that does not belong to any Kubernetes object, for type External.",
  ),
});

const objectMetricStatus = v2(
  "ObjectMetricStatus",
  "Last reading of a metric that describes one Kubernetes object.",
  {
    metric: metric(1),
    current: current(2),
    describedObject: described(3),
  },
);

const podsMetricStatus = v2(
  "PodsMetricStatus",
  "Last reading of a metric that every pod reports.",
  {
    metric: metric(1),
    current: current(2),
  },
);

const resourceMetricStatus = v2(
  "ResourceMetricStatus",
  "Last reading of the resource usage of the pods.",
  {
    name: resourceName,
    current: current(2),
  },
);

const containerResourceMetricStatus = v2(
  "ContainerResourceMetricStatus",
  "Last reading of the resource usage of one container in each pod.",
  { name: resourceName, current: current(2), container },
);

const externalMetricStatus = v2(
  "ExternalMetricStatus",
  "Last reading of a metric from outside the cluster.",
  {
    metric: metric(1),
    current: current(2),
  },
);

const metricStatus = v2("MetricStatus", "One metric as the autoscaler last read it.", {
  type: required(
    1,
    sourceType,
    "Source of the metric: one of Object, Pods, Resource, ContainerResource, External.",
    { openApi: { enum: false } },
  ),
  object: pointer(
    2,
    objectMetricStatus,
    "Reading of a metric of a single object, for type Object.",
  ),
  pods: pointer(3, podsMetricStatus, "Reading of a metric reported by each pod, for type Pods."),
  resource: pointer(
    4,
    resourceMetricStatus,
    "Reading of the resource usage of whole pods, for type Resource.",
  ),
  containerResource: pointer(
    7,
    containerResourceMetricStatus,
    "Reading of the resource usage of one container of each pod, for type ContainerResource.",
  ),
  external: pointer(
    5,
    externalMetricStatus,
    "Reading of a metric from outside the cluster, for type External.",
  ),
});

const scalingPolicy = v2(
  "HPAScalingPolicy",
  "Limit on how much the replica count may change within a period.",
  {
    type: required(
      1,
      named("v2.HPAScalingPolicyType", "Pods", "Percent"),
      "Unit of value: one of Pods, Percent (of the replicas at the start of the period).",
      { openApi: { enum: false } },
    ),
    value: required(2, int32, "Largest change allowed within the period. Must be greater than 0."),
    periodSeconds: required(3, int32, "Length of the period, in seconds: 1 to 1800."),
  },
);

const scalingRules = v2("HPAScalingRules", "Pace of scaling in one direction.", {
  stabilizationWindowSeconds: pointer(
    3,
    int32,
    "Seconds of past recommendations to consider: the most conservative one in the window " +
      "is applied. 0 to 3600. Defaults to 0 for scaling up and to 300 for scaling down.",
  ),
  selectPolicy: pointer(
    1,
    named("v2.ScalingPolicySelect", "Max", "Min", "Disabled"),
    "Which policy applies. One of Max (allows the largest change), Min (the smallest), " +
      "Disabled (no scaling in this direction). Defaults to Max.",
    { openApi: { enum: false } },
  ),
  policies: value(
    2,
    list(scalingPolicy),
    "Limits of the pace. Defaults to 100 percent per 15 seconds, and for scaling up also " +
      "to 4 pods per 15 seconds.",
    { ...atomic, seesEmpty: true },
  ),
  tolerance: pointer(
    4,
    quantity,
    "Relative difference between metric and target, 0.1 for 10%, up to which no scaling " +
      "happens. Defaults to the tolerance of kube-controller-manager, 10%. Alpha: requires " +
      "the feature gate HPAConfigurableTolerance.",
    {
      gate: "HPAConfigurableTolerance",
    },
  ),
});

const behavior = v2(
  "HorizontalPodAutoscalerBehavior",
  "Pace of scaling, separately for each direction.",
  {
    scaleUp: pointer(
      1,
      scalingRules,
      "Rules for adding replicas. By default without stabilization, and with at most 4 pods " +
        "or 100 percent more per 15 seconds.",
    ),
    scaleDown: pointer(
      2,
      scalingRules,
      "Rules for removing replicas. By default with a stabilization window of 300 seconds.",
    ),
  },
);

const spec = v2("HorizontalPodAutoscalerSpec", "Desired behavior of a HorizontalPodAutoscaler.", {
  scaleTargetRef: required(
    1,
    crossVersionObjectReference,
    "Object to scale, in the same namespace. It must serve the scale subresource.",
  ),
  minReplicas: pointer(
    2,
    int32,
    "Lower bound of the replica count. 0 requires the feature gate HPAScaleToZero and an " +
      "Object or External metric. Defaults to 1.",
    { default: 1 },
  ),
  maxReplicas: required(
    3,
    int32,
    "Upper bound of the replica count. Must not be less than minReplicas.",
  ),
  metrics: value(
    4,
    list(metricSpec),
    "Metrics to scale on; the highest replica count that any of them demands wins. " +
      "Defaults to 80% average CPU utilization.",
    atomic,
  ),
  behavior: pointer(5, behavior, "How fast the replica count may grow and shrink."),
});

const condition = v2(
  "HorizontalPodAutoscalerCondition",
  "One observed condition of a HorizontalPodAutoscaler.",
  {
    type: required(
      1,
      named(
        "v2.HorizontalPodAutoscalerConditionType",
        "ScalingActive",
        "AbleToScale",
        "ScalingLimited",
      ),
      "One of ScalingActive (metrics can be read), AbleToScale (the target can be scaled), " +
        "ScalingLimited (minReplicas or maxReplicas holds the count).",
      { openApi: { enum: false } },
    ),
    status: required(
      2,
      named("v1.ConditionStatus"),
      "Status of the condition: one of True, False, Unknown.",
    ),
    lastTransitionTime: value(3, time, "Time at which `status` last changed to another value."),
    reason: value(4, string, "Machine-readable CamelCase reason for the last transition."),
    message: value(5, string, "Human-readable message with details about the last transition."),
  },
);

const status = v2("HorizontalPodAutoscalerStatus", "Observed state of a HorizontalPodAutoscaler.", {
  observedGeneration: pointer(1, int64, "Value of metadata.generation that this status describes."),
  lastScaleTime: pointer(2, time, "Time at which the autoscaler last changed the replica count."),
  currentReplicas: value(3, int32, "Replicas of the target when the autoscaler last looked."),
  desiredReplicas: required(4, int32, "Replicas that the autoscaler last computed."),
  currentMetrics: required(5, list(metricStatus), "Last readings of the metrics.", {
    ...atomic,
    required: false,
  }),
  conditions: value(
    6,
    list(condition),
    "Latest observed conditions, one entry per condition type.",
    {
      listType: "map",
      listMapKeys: ["type"],
      patchStrategy: ["merge"],
      patchMergeKey: "type",
    },
  ),
});

export const horizontalPodAutoscalerV2 = v2(
  "HorizontalPodAutoscaler",
  "HorizontalPodAutoscaler adjusts the replica count of a workload to the metrics it observes.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: value(2, spec, "Target, replica bounds, metrics and pace of scaling."),
    status: value(3, status, "Last computed replica count and metric readings. Read-only."),
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
