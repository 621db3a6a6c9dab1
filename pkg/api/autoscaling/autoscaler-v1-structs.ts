/** HorizontalPodAutoscaler v1, which has a single CPU metric; annotations carry all others. */
import {
  required,
  type Infer,
  int32,
  int64,
  named,
  pointer,
  value,
  string,
  structs,
} from "#schema";
import { labelSelector, objectMeta, quantity, time } from "#meta";

const v1 = structs("api/autoscaling/v1");
const sourceTypes = ["Object", "Pods", "Resource", "ContainerResource", "External"];
const sourceType = named("v1.MetricSourceType", ...sourceTypes);

const crossVersionObjectReference = v1(
  "CrossVersionObjectReference",
  "Reference to an object in the same namespace.",
  {
    kind: required(1, string, "Kind of the object, for example Deployment."),
    name: required(2, string, "Name of the referenced object."),
    apiVersion: value(3, string, "API group and version of the object, for example apps/v1."),
  },
  { atomic: true },
);

const metricName = (number: number) =>
  required(number, string, "Name of the metric in the metrics API.");
const selector = (number: number) =>
  pointer(number, labelSelector, "Label selector that narrows down the series of the metric.");
const described = required(1, crossVersionObjectReference, "Object that the metric describes.");
const resourceName = required(
  1,
  named("v1.ResourceName"),
  "Name of the resource: cpu, memory or an extended resource.",
);

const objectMetricSource = v1(
  "ObjectMetricSource",
  "Metric that describes a Kubernetes object, for example requests per second of an Ingress.",
  {
    target: described,
    metricName: metricName(2),
    targetValue: required(3, quantity, "Target of the metric as a whole."),
    selector: selector(4),
    averageValue: pointer(5, quantity, "Target for the metric divided by the number of pods."),
  },
);

const podsMetricSource = v1(
  "PodsMetricSource",
  "Metric that every pod of the target reports, averaged before it is compared.",
  {
    metricName: metricName(1),
    targetAverageValue: required(
      2,
      quantity,
      "Target for the average over all pods, as an amount.",
    ),
    selector: selector(3),
  },
);

const resourceMetricSource = v1(
  "ResourceMetricSource",
  "Usage of a compute resource by the pods of the scale target, in total or relative to their " +
    "requests.",
  {
    name: resourceName,
    targetAverageUtilization: pointer(
      2,
      int32,
      "Target for the average over all pods, in percent of the resource requests.",
    ),
    targetAverageValue: pointer(3, quantity, "Target for the average over all pods, as an amount."),
  },
);

const containerResourceMetricSource = v1(
  "ContainerResourceMetricSource",
  "Usage of a compute resource by one container in each pod of the scale target.",
  {
    name: resourceName,
    targetAverageUtilization: pointer(
      2,
      int32,
      "Target for the average over all pods, in percent of the resource requests.",
    ),
    targetAverageValue: pointer(3, quantity, "Target for the average over all pods, as an amount."),
    container: required(5, string, "Name of a container in the pods of the scale target."),
  },
);

const externalMetricSource = v1(
  "ExternalMetricSource",
  "Metric that is not associated with a Kubernetes object, for example the length of a queue " +
    "in a cloud messaging service.",
  {
    metricName: metricName(1),
    metricSelector: selector(2),
    targetValue: pointer(
      3,
      quantity,
      "Target of the metric as a whole. Excludes targetAverageValue.",
    ),
    targetAverageValue: pointer(
      4,
      quantity,
      "Target for the metric divided by the number of pods. Excludes targetValue.",
    ),
  },
);

export const metricSpecV1 = v1("MetricSpec", "Metric to scale on and its target value.", {
  type: required(
    1,
    sourceType,
    "Source of the metric: one of Object, Pods, Resource, ContainerResource, External. The " +
      "field of the same name must be set.",
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

const currentAverage = (number: number) =>
  required(number, quantity, "Current average over all pods, as an amount.");
const utilization = pointer(
  2,
  int32,
  "Current average over all pods, in percent of the resource requests.",
);

const objectMetricStatus = v1(
  "ObjectMetricStatus",
  "Current value of a metric that describes a Kubernetes object.",
  {
    target: described,
    metricName: metricName(2),
    currentValue: required(3, quantity, "Current value of the metric as a whole."),
    selector: selector(4),
    averageValue: pointer(5, quantity, "Current value divided by the number of pods."),
  },
);

const podsMetricStatus = v1(
  "PodsMetricStatus",
  "Current value of a metric that describes each pod of the scale target.",
  {
    metricName: metricName(1),
    currentAverageValue: currentAverage(2),
    selector: selector(3),
  },
);

const resourceMetricStatus = v1(
  "ResourceMetricStatus",
  "Current usage of a compute resource by the pods of the scale target.",
  {
    name: resourceName,
    currentAverageUtilization: utilization,
    currentAverageValue: currentAverage(3),
  },
);

const containerResourceMetricStatus = v1(
  "ContainerResourceMetricStatus",
  "Current usage of a compute resource by one container in each pod of the scale target.",
  {
    name: resourceName,
    currentAverageUtilization: utilization,
    currentAverageValue: currentAverage(3),
    container: required(4, string, "Name of a container in the pods of the scale target."),
  },
);

const externalMetricStatus = v1(
  "ExternalMetricStatus",
  "Current value of a metric that is not associated with a Kubernetes object.",
  {
    metricName: metricName(1),
    metricSelector: selector(2),
    currentValue: required(3, quantity, "Current value of the metric as a whole."),
    currentAverageValue: pointer(4, quantity, "Current value divided by the number of pods."),
  },
);

export const metricStatusV1 = v1(
  "MetricStatus",
  "Last value of a metric, as read by the autoscaler.",
  {
    type: required(
      1,
      sourceType,
      "Source of the metric: one of Object, Pods, Resource, ContainerResource, External.",
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
  },
);

export const conditionV1 = v1(
  "HorizontalPodAutoscalerCondition",
  "One observed condition of a HorizontalPodAutoscaler.",
  {
    type: required(
      1,
      named(
        "v1.HorizontalPodAutoscalerConditionType",
        "ScalingActive",
        "AbleToScale",
        "ScalingLimited",
      ),
      "Type of the condition: ScalingActive (the desired replicas can be calculated), " +
        "AbleToScale (the target can be read and scaled) or ScalingLimited (minReplicas or " +
        "maxReplicas limits the replicas).",
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

const spec = v1("HorizontalPodAutoscalerSpec", "Desired behavior of a HorizontalPodAutoscaler.", {
  scaleTargetRef: required(
    1,
    crossVersionObjectReference,
    "Object to scale, in the same namespace. It must have a scale subresource.",
  ),
  minReplicas: pointer(
    2,
    int32,
    "Lower limit of the replica count. 0 requires the feature gate HPAScaleToZero, and an " +
      "Object or External metric set through autoscaling/v2. Defaults to 1.",
    { default: 1 },
  ),
  maxReplicas: required(
    3,
    int32,
    "Upper limit of the replica count. Must not be less than minReplicas.",
  ),
  targetCPUUtilizationPercentage: pointer(
    4,
    int32,
    "Target for the average CPU usage of the pods, in percent of their requests. Defaults to " +
      "80 if there is no other metric. autoscaling/v2 supports other metrics.",
  ),
});

const status = v1("HorizontalPodAutoscalerStatus", "Observed state of a HorizontalPodAutoscaler.", {
  observedGeneration: pointer(1, int64, "Value of metadata.generation that this status describes."),
  lastScaleTime: pointer(2, time, "Time at which the autoscaler last changed the replica count."),
  currentReplicas: required(
    3,
    int32,
    "Number of replicas of the scale target, as last seen by the autoscaler.",
  ),
  desiredReplicas: required(
    4,
    int32,
    "Number of replicas of the scale target, as last calculated by the autoscaler.",
  ),
  currentCPUUtilizationPercentage: pointer(
    5,
    int32,
    "Current average CPU usage of the pods, in percent of their requests.",
  ),
});

export const horizontalPodAutoscalerV1 = v1(
  "HorizontalPodAutoscaler",
  "HorizontalPodAutoscaler automatically scales the replica count of a workload according to " +
    "its CPU utilization. autoscaling/v2 supports more metrics.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: value(2, spec, "Scale target, replica limits and target CPU utilization."),
    status: value(
      3,
      status,
      "Current and desired replicas, and current CPU utilization. Read-only.",
    ),
  },
);

export type AutoscalerV1 = Infer<typeof horizontalPodAutoscalerV1>;
export type MetricV1 = Infer<typeof metricSpecV1>;
export type MetricStatusV1 = Infer<typeof metricStatusV1>;
