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
  mergedBy,
} from "#schema";
import { labelSelector, objectMeta, quantity, time } from "#meta";

const v2 = structs("api/autoscaling/v2");
const atomic = { listType: "atomic" } as const;
const sourceTypes = ["Object", "Pods", "Resource", "ContainerResource", "External"];
const sourceType = named("v2.MetricSourceType", ...sourceTypes);

const metricTarget = v2(
  "MetricTarget",
  "Target value of a metric: as a whole, as an average, or as average utilization.",
  {
    type: required(
      1,
      named("v2.MetricTargetType", "Utilization", "Value", "AverageValue"),
      "Type of the target, which is the field to set. One of Utilization (averageUtilization), " +
        "Value (value), AverageValue (averageValue).",
      { openApi: { enum: false } },
    ),
    value: pointer(2, quantity, "Target value of the metric. Must be positive."),
    averageValue: pointer(
      3,
      quantity,
      "Target for the average of the metric over all pods. Must be positive.",
    ),
    averageUtilization: pointer(
      4,
      int32,
      "Target for the average resource usage of all pods, in percent of their requests. Only for " +
        "resource metrics. Must be positive.",
    ),
  },
);

const metricValueStatus = v2("MetricValueStatus", "Current value of a metric.", {
  value: pointer(1, quantity, "Current value of the metric, not averaged."),
  averageValue: pointer(2, quantity, "Current average of the metric over all pods, as a quantity."),
  averageUtilization: pointer(
    3,
    int32,
    "Current average resource usage of all pods, in percent of their requests.",
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
  "Name of a metric, and optionally a selector of its series.",
  {
    name: required(1, string, "Name of the metric in the metrics API."),
    selector: pointer(
      2,
      labelSelector,
      "Label selector of the series, which is passed to the metrics server. If absent, only " +
        "the name is used.",
    ),
  },
);

const target = (number: number) => required(number, metricTarget, "Target value of the metric.");
const current = (number: number) =>
  required(number, metricValueStatus, "Current value, as last read by the autoscaler.");
const metric = (number: number) =>
  required(number, metricIdentifier, "Name and selector of the metric.");
const described = (number: number) =>
  required(number, crossVersionObjectReference, "Object that the metric describes.");
const resourceName = required(
  1,
  named("v1.ResourceName"),
  "Name of the resource: cpu, memory or an extended resource.",
);
const container = required(3, string, "Name of a container in the pods of the scale target.");

const objectMetricSource = v2(
  "ObjectMetricSource",
  "Metric that describes a Kubernetes object, for example requests per second of an Ingress.",
  {
    describedObject: described(1),
    target: target(2),
    metric: metric(3),
  },
);

const podsMetricSource = v2(
  "PodsMetricSource",
  "Metric that describes each pod of the scale target, for example transactions per second. " +
    "Values are averaged; the target type must be AverageValue.",
  {
    metric: metric(1),
    target: target(2),
  },
);

const resourceMetricSource = v2(
  "ResourceMetricSource",
  "Usage of a compute resource by the pods of the scale target, in total or relative to their " +
    "requests.",
  {
    name: resourceName,
    target: target(2),
  },
);

const containerResourceMetricSource = v2(
  "ContainerResourceMetricSource",
  "Usage of a compute resource by one container in each pod of the scale target.",
  { name: resourceName, target: target(2), container },
);

const externalMetricSource = v2(
  "ExternalMetricSource",
  "Metric that is not associated with a Kubernetes object, for example the length of a queue " +
    "in a cloud messaging service.",
  {
    metric: metric(1),
    target: target(2),
  },
);

const metricSpec = v2("MetricSpec", "Metric to scale on and its target value.", {
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
    "Metric that describes a single object in the namespace, for type Object.",
  ),
  pods: pointer(
    3,
    podsMetricSource,
    "Metric that describes each pod of the scale target, for type Pods.",
  ),
  resource: pointer(
    4,
    resourceMetricSource,
    "Compute resource used by the pods of the scale target, for type Resource.",
  ),
  containerResource: pointer(
    7,
    containerResourceMetricSource,
    "Compute resource used by one container in each pod of the scale target, for type " +
      "ContainerResource.",
  ),
  external: pointer(
    5,
    externalMetricSource,
    "Metric that is not associated with a Kubernetes object, for type External.",
  ),
});

const objectMetricStatus = v2(
  "ObjectMetricStatus",
  "Current value of a metric that describes a Kubernetes object.",
  {
    metric: metric(1),
    current: current(2),
    describedObject: described(3),
  },
);

const podsMetricStatus = v2(
  "PodsMetricStatus",
  "Current value of a metric that describes each pod of the scale target.",
  {
    metric: metric(1),
    current: current(2),
  },
);

const resourceMetricStatus = v2(
  "ResourceMetricStatus",
  "Current usage of a compute resource by the pods of the scale target.",
  {
    name: resourceName,
    current: current(2),
  },
);

const containerResourceMetricStatus = v2(
  "ContainerResourceMetricStatus",
  "Current usage of a compute resource by one container in each pod of the scale target.",
  { name: resourceName, current: current(2), container },
);

const externalMetricStatus = v2(
  "ExternalMetricStatus",
  "Current value of a metric that is not associated with a Kubernetes object.",
  {
    metric: metric(1),
    current: current(2),
  },
);

const metricStatus = v2("MetricStatus", "Last value of a metric, as read by the autoscaler.", {
  type: required(
    1,
    sourceType,
    "Source of the metric: one of Object, Pods, Resource, ContainerResource, External.",
    { openApi: { enum: false } },
  ),
  object: pointer(
    2,
    objectMetricStatus,
    "Value of a metric that describes a single object, for type Object.",
  ),
  pods: pointer(3, podsMetricStatus, "Value of a metric that describes each pod, for type Pods."),
  resource: pointer(
    4,
    resourceMetricStatus,
    "Usage of a compute resource by the pods, for type Resource.",
  ),
  containerResource: pointer(
    7,
    containerResourceMetricStatus,
    "Usage of a compute resource by one container in each pod, for type ContainerResource.",
  ),
  external: pointer(
    5,
    externalMetricStatus,
    "Value of a metric that is not associated with a Kubernetes object, for type External.",
  ),
});

const scalingPolicy = v2(
  "HPAScalingPolicy",
  "Scaling policy: limits the change of the replica count within a period.",
  {
    type: required(
      1,
      named("v2.HPAScalingPolicyType", "Pods", "Percent"),
      "Type of the policy, which is the unit of value: one of Pods, Percent (of the replicas " +
        "at the start of the period).",
      { openApi: { enum: false } },
    ),
    value: required(2, int32, "Maximum change within the period. Must be greater than 0."),
    periodSeconds: required(3, int32, "Length of the period in seconds, 1 to 1800."),
  },
);

const scalingRules = v2(
  "HPAScalingRules",
  "Scaling rules for one direction: stabilization window, policies and tolerance.",
  {
    stabilizationWindowSeconds: pointer(
      3,
      int32,
      "Seconds for which past recommendations are considered: the most conservative of them is " +
        "used. 0 to 3600. Defaults to 0 for scaling up and to 300 for scaling down.",
    ),
    selectPolicy: pointer(
      1,
      named("v2.ScalingPolicySelect", "Max", "Min", "Disabled"),
      "Policy to use if there are several. One of Max (allows the largest change), Min (allows " +
        "the smallest change), Disabled (no scaling in this direction). Defaults to Max.",
      { openApi: { enum: false } },
    ),
    policies: value(
      2,
      list(scalingPolicy),
      "Scaling policies, which limit the change per period. Defaults to 100 percent per 15 " +
        "seconds, and for scaling up also to 4 pods per 15 seconds.",
      atomic,
    ),
    tolerance: pointer(
      4,
      quantity,
      "Tolerance for the ratio of the current to the desired metric value, within which no " +
        "scaling happens: 0.1 is 10%. Defaults to that of kube-controller-manager, 10%. Alpha: " +
        "requires the feature gate HPAConfigurableTolerance.",
      {
        gate: "HPAConfigurableTolerance",
      },
    ),
  },
);

const behavior = v2("HorizontalPodAutoscalerBehavior", "Scaling behavior in each direction.", {
  scaleUp: pointer(
    1,
    scalingRules,
    "Scaling policy for scaling up. By default, at most the higher of 4 pods and 100 percent " +
      "are added per 15 seconds, without stabilization.",
  ),
  scaleDown: pointer(
    2,
    scalingRules,
    "Scaling policy for scaling down. By default, all pods down to minReplicas may be " +
      "removed, with a stabilization window of 300 seconds.",
  ),
});

const spec = v2("HorizontalPodAutoscalerSpec", "Desired behavior of a HorizontalPodAutoscaler.", {
  scaleTargetRef: required(
    1,
    crossVersionObjectReference,
    "Object to scale, in the same namespace. It must have a scale subresource.",
  ),
  minReplicas: pointer(
    2,
    int32,
    "Lower limit of the replica count. 0 requires the feature gate HPAScaleToZero and an " +
      "Object or External metric. Defaults to 1.",
    { default: 1 },
  ),
  maxReplicas: required(
    3,
    int32,
    "Upper limit of the replica count. Must not be less than minReplicas.",
  ),
  metrics: value(
    4,
    list(metricSpec),
    "Metrics from which the desired replica count is calculated; the highest result of all " +
      "metrics is used. Defaults to 80% average CPU utilization.",
    atomic,
  ),
  behavior: pointer(5, behavior, "Scaling behavior in each direction: limits and stabilization."),
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
      "Type of the condition: ScalingActive (the desired replicas can be calculated), " +
        "AbleToScale (the target can be read and scaled) or ScalingLimited (minReplicas or " +
        "maxReplicas limits the replicas).",
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
  currentReplicas: value(
    3,
    int32,
    "Number of replicas of the scale target, as last seen by the autoscaler.",
  ),
  desiredReplicas: required(
    4,
    int32,
    "Number of replicas of the scale target, as last calculated by the autoscaler.",
  ),
  currentMetrics: required(
    5,
    list(metricStatus),
    "Last values of the metrics, as read by the autoscaler.",
    {
      ...atomic,
      required: false,
    },
  ),
  conditions: value(
    6,
    list(condition),
    "Latest observed conditions, one entry per condition type.",
    mergedBy("type"),
  ),
});

export const horizontalPodAutoscalerV2 = v2(
  "HorizontalPodAutoscaler",
  "HorizontalPodAutoscaler automatically scales the replica count of a workload according to " +
    "observed metrics.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: value(2, spec, "Scale target, replica limits, metrics and scaling behavior."),
    status: value(3, status, "Current and desired replicas, and current metrics. Read-only."),
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
