/** HorizontalPodAutoscaler in v1, which has room for one metric; annotations carry the others. */
import { always, type Infer, int32, int64, named, optional, plain, string, structs } from "#schema";
import { labelSelector, objectMeta, quantity, time } from "#meta";

const v1 = structs("api/autoscaling/v1");
const sourceTypes = ["Object", "Pods", "Resource", "ContainerResource", "External"];
const sourceType = named("v1.MetricSourceType", ...sourceTypes);

const crossVersionObjectReference = v1(
  "CrossVersionObjectReference",
  "Points to an object in the same namespace.",
  {
    kind: always(1, string, "Kind of the object."),
    name: always(2, string, "Name of the object."),
    apiVersion: plain(3, string, "Its group and version."),
  },
  { atomic: true },
);

const metricName = (number: number) => always(number, string, "Name of the metric.");
const selector = (number: number) =>
  optional(number, labelSelector, "Selects among series of that name.");
const described = always(1, crossVersionObjectReference, "The object that the metric is of.");
const resourceName = always(1, string, "Name of the resource, as in cpu.");

const objectMetricSource = v1("ObjectMetricSource", "A metric of another object.", {
  target: described,
  metricName: metricName(2),
  targetValue: always(3, quantity, "What it should be."),
  selector: selector(4),
  averageValue: optional(5, quantity, "What it should be on average over all pods."),
});

const podsMetricSource = v1("PodsMetricSource", "A metric of each pod.", {
  metricName: metricName(1),
  targetAverageValue: always(2, quantity, "What it should be on average over all pods."),
  selector: selector(3),
});

const resourceMetricSource = v1("ResourceMetricSource", "Use of a resource by the pods.", {
  name: resourceName,
  targetAverageUtilization: optional(2, int32, "What it should be, in percent of the requests."),
  targetAverageValue: optional(3, quantity, "What it should be on average over all pods."),
});

const containerResourceMetricSource = v1(
  "ContainerResourceMetricSource",
  "Use of a resource by one container of each pod.",
  {
    name: resourceName,
    targetAverageUtilization: optional(2, int32, "What it should be, in percent of the requests."),
    targetAverageValue: optional(3, quantity, "What it should be on average over all pods."),
    container: always(5, string, "Name of the container."),
  },
);

const externalMetricSource = v1("ExternalMetricSource", "A metric from outside of the cluster.", {
  metricName: metricName(1),
  metricSelector: selector(2),
  targetValue: optional(3, quantity, "What it should be."),
  targetAverageValue: optional(4, quantity, "What it should be on average over all pods."),
});

export const metricSpecV1 = v1("MetricSpec", "A metric, and what it should be.", {
  type: always(1, sourceType, "Which of the others is set."),
  object: optional(2, objectMetricSource, "A metric of another object."),
  pods: optional(3, podsMetricSource, "A metric of each pod."),
  resource: optional(4, resourceMetricSource, "Use of a resource by the pods."),
  containerResource: optional(
    7,
    containerResourceMetricSource,
    "Use of a resource by one container of each pod.",
  ),
  external: optional(5, externalMetricSource, "A metric from outside of the cluster."),
});

const currentAverage = (number: number) =>
  always(number, quantity, "What it is on average over all pods.");
const utilization = optional(2, int32, "What it is, in percent of the requests.");

const objectMetricStatus = v1("ObjectMetricStatus", "A metric of another object.", {
  target: described,
  metricName: metricName(2),
  currentValue: always(3, quantity, "What it is."),
  selector: selector(4),
  averageValue: optional(5, quantity, "What it is on average over all pods."),
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
    container: always(4, string, "Name of the container."),
  },
);

const externalMetricStatus = v1("ExternalMetricStatus", "A metric from outside of the cluster.", {
  metricName: metricName(1),
  metricSelector: selector(2),
  currentValue: always(3, quantity, "What it is."),
  currentAverageValue: optional(4, quantity, "What it is on average over all pods."),
});

export const metricStatusV1 = v1("MetricStatus", "A metric, and what it is.", {
  type: always(1, sourceType, "Which of the others is set."),
  object: optional(2, objectMetricStatus, "A metric of another object."),
  pods: optional(3, podsMetricStatus, "A metric of each pod."),
  resource: optional(4, resourceMetricStatus, "Use of a resource by the pods."),
  containerResource: optional(
    7,
    containerResourceMetricStatus,
    "Use of a resource by one container of each pod.",
  ),
  external: optional(5, externalMetricStatus, "A metric from outside of the cluster."),
});

export const conditionV1 = v1(
  "HorizontalPodAutoscalerCondition",
  "One thing that holds or does not.",
  {
    type: always(
      1,
      named(
        "v1.HorizontalPodAutoscalerConditionType",
        "ScalingActive",
        "AbleToScale",
        "ScalingLimited",
      ),
      "What it is about, as in AbleToScale.",
    ),
    status: always(2, string, "True, False or Unknown."),
    lastTransitionTime: plain(3, time, "When the status last changed."),
    reason: plain(4, string, "Why, in one word for machines."),
    message: plain(5, string, "Why, in words."),
  },
);

const spec = v1("HorizontalPodAutoscalerSpec", "What to scale, and how far.", {
  scaleTargetRef: always(1, crossVersionObjectReference, "The object to scale."),
  minReplicas: optional(2, int32, "Fewest replicas.", { default: 1 }),
  maxReplicas: always(3, int32, "Most replicas."),
  targetCPUUtilizationPercentage: optional(
    4,
    int32,
    "Average use of CPU to aim at, in percent of what pods request.",
  ),
});

const status = v1("HorizontalPodAutoscalerStatus", "What was observed.", {
  observedGeneration: optional(1, int64, "Generation that this is about."),
  lastScaleTime: optional(2, time, "When the size last changed."),
  currentReplicas: always(3, int32, "Replicas when last looked."),
  desiredReplicas: always(4, int32, "Replicas that were found right."),
  currentCPUUtilizationPercentage: optional(
    5,
    int32,
    "Average use of CPU, in percent of what pods request.",
  ),
});

export const horizontalPodAutoscalerV1 = v1(
  "HorizontalPodAutoscaler",
  "Scales an object up and down as its use of CPU demands.",
  {
    metadata: plain(1, objectMeta, "Standard object metadata."),
    spec: plain(2, spec, "What to scale, and how far."),
    status: plain(3, status, "What was observed."),
  },
);

export type AutoscalerV1 = Infer<typeof horizontalPodAutoscalerV1>;
export type MetricV1 = Infer<typeof metricSpecV1>;
export type MetricStatusV1 = Infer<typeof metricStatusV1>;
