import { goQuote, type LabelSelector, Quantity, selectorFromLabelSelector } from "#meta";
import type {
  AutoscalerCondition,
  MetricSpec,
  MetricStatus,
  MetricTarget,
} from "./autoscaling-kinds.ts";
import { milliValue } from "./metrics-client.ts";
import type { ReplicaCalculator, ReplicaProposal, ScaleTarget } from "./replica-calculator.ts";

/** Replica count that a metric proposes. */
export interface MetricProposal {
  readonly replicas: number;
  /** The metric, as named in Events. */
  readonly name: string;
  readonly status: MetricStatus;
}

/** A metric that could not be computed; reason and message of the condition and Event. */
export class MetricError extends Error {
  override readonly name = "MetricError";
  constructor(
    message: string,
    readonly reason: string,
    /** Cause, for the condition and the Event. */
    readonly detail: string,
  ) {
    super(message);
  }

  get condition(): Omit<AutoscalerCondition, "lastTransitionTime"> {
    const message = `the HPA was unable to compute the replica count: ${this.detail}`;
    return { type: "ScalingActive", status: "False", reason: this.reason, message };
  }
}

/** Inputs of metric evaluation. */
export interface Evaluation {
  readonly calculator: ReplicaCalculator;
  readonly target: ScaleTarget;
  /** `status.replicas` of the scale. */
  readonly statusReplicas: number;
}

/** The status of a metric that could not be computed. */
export const unknownMetric: MetricStatus = { type: "" };

/** Computes one metric of an autoscaler. @throws MetricError */
export async function evaluateMetric(spec: MetricSpec, by: Evaluation): Promise<MetricProposal> {
  const { type, resource, containerResource, pods, object, external } = spec;
  if (type === "Resource" && resource !== undefined) {
    const failure = {
      reason: "FailedGetResourceMetric",
      what: `failed to get ${resource.name} resource metric value`,
    };
    return attempt(failure, () => resourceMetric({ ...resource, container: "" }, by));
  }
  if (type === "ContainerResource" && containerResource !== undefined) {
    const what = `failed to get ${containerResource.container} container metric value`;
    const failure = { reason: "FailedGetContainerResourceMetric", what };
    return attempt(failure, () => resourceMetric(containerResource, by));
  }
  if (type === "Pods" && pods !== undefined) {
    const failure = { reason: "FailedGetPodsMetric", what: "failed to get pods metric value" };
    return attempt(failure, () => podsMetric(pods, by));
  }
  if (type === "Object" && object !== undefined) {
    const failure = { reason: "FailedGetObjectMetric", what: "failed to get object metric value" };
    return attempt(failure, () => objectMetric(object, by));
  }
  if (type === "External" && external !== undefined) {
    const what = `failed to get ${external.metric.name} external metric value`;
    return attempt({ reason: "FailedGetExternalMetric", what }, () => externalMetric(external, by));
  }
  const message = `unknown metric source type ${goQuote(type)}`;
  throw new MetricError(message, "InvalidMetricSourceType", message);
}

async function attempt(
  { reason, what }: { readonly reason: string; readonly what: string },
  compute: () => Promise<MetricProposal>,
): Promise<MetricProposal> {
  try {
    return await compute();
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    throw new MetricError(`${what}: ${detail}`, reason, detail);
  }
}

async function resourceMetric(
  source: { readonly name: string; readonly container: string; readonly target: MetricTarget },
  { calculator, target }: Evaluation,
): Promise<MetricProposal> {
  const { name: resource, container } = source;
  const { averageValue, averageUtilization: percent } = source.target;
  const withStatus = (proposal: ReplicaProposal, name: string) => {
    const { replicas, usage, utilization } = proposal;
    const averageValue = formatAmount(usage, resource === "memory" ? "BinarySI" : "DecimalSI");
    const current =
      utilization === undefined
        ? { averageValue }
        : { averageValue, averageUtilization: utilization };
    const status: MetricStatus =
      container === ""
        ? { type: "Resource", resource: { name: resource, current } }
        : { type: "ContainerResource", containerResource: { name: resource, container, current } };
    return { replicas, name, status };
  };
  const failed = (measure: string) => (error: Error) => {
    throw new Error(`failed to get ${resource} ${measure}: ${error.message}`);
  };
  if (averageValue !== undefined) {
    const of = { resource, container, average: milliValue(averageValue) };
    const proposal = await calculator.resourceUsage(target, of).catch(failed("usage"));
    return withStatus(proposal, `${resource} resource`);
  }
  if (percent === undefined) {
    throw new Error(
      "invalid resource metric source: neither an average utilization target nor an average value " +
        "(usage) target was set",
    );
  }
  const of = { resource, container, percent };
  const proposal = await calculator.resourceUtilization(target, of).catch(failed("utilization"));
  const kind = container === "" ? "resource" : "container resource";
  return withStatus(proposal, `${resource} ${kind} utilization (percentage of request)`);
}

async function podsMetric(
  { metric, target: wanted }: NonNullable<MetricSpec["pods"]>,
  { calculator, target }: Evaluation,
): Promise<MetricProposal> {
  const { name, selector } = metric;
  const average = milliValue(wanted.averageValue ?? "0");
  const of = { metric: name, metricSelector: formatSelector(selector), average };
  const { replicas, usage } = await calculator.podsMetric(target, of);
  const current = { averageValue: formatAmount(usage) };
  return {
    replicas,
    name: `pods metric ${name}`,
    status: { type: "Pods", pods: { metric, current } },
  };
}

async function objectMetric(
  { metric, target: wanted, describedObject: object }: NonNullable<MetricSpec["object"]>,
  { calculator, target, statusReplicas }: Evaluation,
): Promise<MetricProposal> {
  const { name, selector } = metric;
  const of = { metric: name, metricSelector: formatSelector(selector), object };
  const withStatus = ({ replicas, usage }: ReplicaProposal, field: string, description: string) => {
    const current = { [field]: formatAmount(usage) };
    const status = { type: "Object", object: { metric, current, describedObject: object } };
    return { replicas, name: description, status };
  };
  if (wanted.type === "Value" && wanted.value !== undefined) {
    const value = { value: milliValue(wanted.value) };
    const proposal = await calculator.objectMetric(target, { ...of, wanted: value });
    return withStatus(proposal, "value", `${object.kind} metric ${name}`);
  }
  if (wanted.type === "AverageValue" && wanted.averageValue !== undefined) {
    const average = { average: milliValue(wanted.averageValue), statusReplicas };
    const proposal = await calculator.objectMetric(target, { ...of, wanted: average });
    return withStatus(proposal, "averageValue", `external metric ${name}(${goSelector(selector)})`);
  }
  throw new Error(
    "invalid object metric source: neither a value target nor an average value target was set",
  );
}

async function externalMetric(
  { metric, target: wanted }: NonNullable<MetricSpec["external"]>,
  { calculator, target, statusReplicas }: Evaluation,
): Promise<MetricProposal> {
  const { name, selector } = metric;
  const shownSelector = goSelector(selector);
  const of = { metric: name, metricSelector: formatSelector(selector), shownSelector };
  const withStatus = ({ replicas, usage }: ReplicaProposal, field: string) => ({
    replicas,
    name: `external metric ${name}(${shownSelector})`,
    status: { type: "External", external: { metric, current: { [field]: formatAmount(usage) } } },
  });
  if (wanted.averageValue !== undefined) {
    const average = { average: milliValue(wanted.averageValue), statusReplicas };
    return withStatus(
      await calculator.externalMetric(target, { ...of, wanted: average }),
      "averageValue",
    );
  }
  if (wanted.value !== undefined) {
    const value = { value: milliValue(wanted.value) };
    return withStatus(await calculator.externalMetric(target, { ...of, wanted: value }), "value");
  }
  throw new Error(
    "invalid external metric source: neither a value target nor an average value target was set",
  );
}

/** Formats thousandths as a quantity. */
function formatAmount(thousandths: number, format: "BinarySI" | "DecimalSI" = "DecimalSI"): string {
  const amount = Math.trunc(thousandths);
  const whole = amount % 1000 === 0;
  return (whole ? Quantity.of(amount / 1000, format) : Quantity.parse(`${amount}m`)).canonical();
}

/** Formats a metric selector; an absent one selects every series. */
function formatSelector(selector: LabelSelector | undefined): string {
  return selector === undefined ? "" : String(selectorFromLabelSelector(selector));
}

/** Prints a selector like Go's `%v` of a pointer to it, as in messages of kube-controller-manager. */
function goSelector(selector: LabelSelector | undefined): string {
  if (selector === undefined) return "nil";
  const labels = Object.entries(selector.matchLabels ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  const pairs = labels.map(([key, value]) => `${key}: ${value},`).join("");
  const expressions = (selector.matchExpressions ?? []).map(
    ({ key, operator, values }) =>
      `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${(values ?? []).join(" ")}],},`,
  );
  const requirements = `[]LabelSelectorRequirement{${expressions.join("")}}`;
  return `&LabelSelector{MatchLabels:map[string]string{${pairs}},MatchExpressions:${requirements},}`;
}
