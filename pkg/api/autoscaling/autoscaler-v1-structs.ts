/** HorizontalPodAutoscaler in v1, which has room for one metric; annotations carry the others. */
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
  "Points to an object in the same namespace.",
  {
    kind: required(1, string, "Kind of the object."),
    name: required(2, string, "Name of the object."),
    apiVersion: value(3, string, "Its group and version."),
  },
  { atomic: true },
);

const metricName = (number: number) => required(number, string, "Name of the metric.");
const selector = (number: number) =>
  pointer(number, labelSelector, "Selects among series of that name.");
const described = required(1, crossVersionObjectReference, "The object that the metric is of.");
const resourceName = required(1, string, "Name of the resource, as in cpu.");

const objectMetricSource = v1("ObjectMetricSource", "A metric of another object.", {
  target: described,
  metricName: metricName(2),
  targetValue: required(3, quantity, "What it should be."),
  selector: selector(4),
  averageValue: pointer(5, quantity, "What it should be on average over all pods."),
});

const podsMetricSource = v1("PodsMetricSource", "A metric of each pod.", {
  metricName: metricName(1),
  targetAverageValue: required(2, quantity, "What it should be on average over all pods."),
  selector: selector(3),
});

const resourceMetricSource = v1("ResourceMetricSource", "Use of a resource by the pods.", {
  name: resourceName,
  targetAverageUtilization: pointer(2, int32, "What it should be, in percent of the requests."),
  targetAverageValue: pointer(3, quantity, "What it should be on average over all pods."),
});

const containerResourceMetricSource = v1(
  "ContainerResourceMetricSource",
  "Use of a resource by one container of each pod.",
  {
    name: resourceName,
    targetAverageUtilization: pointer(2, int32, "What it should be, in percent of the requests."),
    targetAverageValue: pointer(3, quantity, "What it should be on average over all pods."),
    container: required(5, string, "Name of the container."),
  },
);

const externalMetricSource = v1("ExternalMetricSource", "A metric from outside of the cluster.", {
  metricName: metricName(1),
  metricSelector: selector(2),
  targetValue: pointer(3, quantity, "What it should be."),
  targetAverageValue: pointer(4, quantity, "What it should be on average over all pods."),
});

export const metricSpecV1 = v1("MetricSpec", "A metric, and what it should be.", {
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

const currentAverage = (number: number) =>
  required(number, quantity, "What it is on average over all pods.");
const utilization = pointer(2, int32, "What it is, in percent of the requests.");

const objectMetricStatus = v1("ObjectMetricStatus", "A metric of another object.", {
  target: described,
  metricName: metricName(2),
  currentValue: required(3, quantity, "What it is."),
  selector: selector(4),
  averageValue: pointer(5, quantity, "What it is on average over all pods."),
});

const podsMetricStatus = v1("PodsMetricStatus", "A metric of each pod.", {
  metricName: metricName(1),
  currentAverageValue: currentAverage(2),
  selector: selector(3),
});

const resourceMetricStatus = v1("ResourceMetricStatus", "Use of a resource by the pods.", {
  name: resourceName,
  currentAverageUtilization: utilization,
  currentAverageValue: currentAverage(3),
});

const containerResourceMetricStatus = v1(
  "ContainerResourceMetricStatus",
  "Use of a resource by one container of each pod.",
  {
    name: resourceName,
    currentAverageUtilization: utilization,
    currentAverageValue: currentAverage(3),
    container: required(4, string, "Name of the container."),
  },
);

const externalMetricStatus = v1("ExternalMetricStatus", "A metric from outside of the cluster.", {
  metricName: metricName(1),
  metricSelector: selector(2),
  currentValue: required(3, quantity, "What it is."),
  currentAverageValue: pointer(4, quantity, "What it is on average over all pods."),
});

export const metricStatusV1 = v1("MetricStatus", "A metric, and what it is.", {
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

export const conditionV1 = v1(
  "HorizontalPodAutoscalerCondition",
  "One thing that holds or does not.",
  {
    type: required(
      1,
      named(
        "v1.HorizontalPodAutoscalerConditionType",
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
  },
);

const spec = v1("HorizontalPodAutoscalerSpec", "What to scale, and how far.", {
  scaleTargetRef: required(1, crossVersionObjectReference, "The object to scale."),
  minReplicas: pointer(2, int32, "Fewest replicas.", { default: 1 }),
  maxReplicas: required(3, int32, "Most replicas."),
  targetCPUUtilizationPercentage: pointer(
    4,
    int32,
    "Average use of CPU to aim at, in percent of what pods request.",
  ),
});

const status = v1("HorizontalPodAutoscalerStatus", "What was observed.", {
  observedGeneration: pointer(1, int64, "Generation that this is about."),
  lastScaleTime: pointer(2, time, "When the size last changed."),
  currentReplicas: required(3, int32, "Replicas when last looked."),
  desiredReplicas: required(4, int32, "Replicas that were found right."),
  currentCPUUtilizationPercentage: pointer(
    5,
    int32,
    "Average use of CPU, in percent of what pods request.",
  ),
});

export const horizontalPodAutoscalerV1 = v1(
  "HorizontalPodAutoscaler",
  "Scales an object up and down as its use of CPU demands.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: value(2, spec, "What to scale, and how far."),
    status: value(3, status, "What was observed."),
  },
);

export type AutoscalerV1 = Infer<typeof horizontalPodAutoscalerV1>;
export type MetricV1 = Infer<typeof metricSpecV1>;
export type MetricStatusV1 = Infer<typeof metricStatusV1>;
