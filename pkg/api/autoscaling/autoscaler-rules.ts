import { Path, type Problems } from "#schema";
import { isDns1123Label, isPathSegmentName, Quantity } from "#meta";
import { checkContainerResourceName } from "../core/shared/resource-names.ts";
import { invalidEach } from "../strategy.ts";
import type {
  Autoscaler,
  Metric,
  MetricIdentifier,
  MetricTarget,
  ObjectReference,
  ScalingRules,
} from "./autoscaler-structs.ts";

const path = Path.of("spec");

/**
 * Validates a HorizontalPodAutoscaler.
 * @param isApiVersionFree skips the check of apiVersion of the target, which the old object already
 * violates
 */
export function checkAutoscaler(
  { spec }: Autoscaler,
  problems: Problems,
  {
    isApiVersionFree,
    canBeZero,
    old,
  }: { isApiVersionFree: boolean; canBeZero: boolean; old?: Autoscaler | undefined },
): void {
  const { minReplicas: least, maxReplicas: most, metrics = [], behavior } = spec;
  const lowest = canBeZero ? 0 : 1;
  if (least !== undefined && least < lowest) {
    const detail = `must be greater than or equal to ${lowest}`;
    problems.invalid(path.child("minReplicas"), least, detail);
  }
  if (most < 1) problems.invalid(path.child("maxReplicas"), most, "must be greater than 0");
  if (least !== undefined && most < least) {
    const detail = "must be greater than or equal to `minReplicas`";
    problems.invalid(path.child("maxReplicas"), most, detail);
  }
  const target = path.child("scaleTargetRef");
  checkReference(spec.scaleTargetRef, target, problems);
  if (!isApiVersionFree) checkApiVersion(spec.scaleTargetRef, target.child("apiVersion"), problems);
  const before = old?.spec.metrics?.map(({ object }) => object?.describedObject) ?? [];
  const hadWrongObject = before.some((each) => each !== undefined && isWrongVersion(each));
  for (const [index, metric] of metrics.entries()) {
    const itemPath = path.child("metrics").index(index);
    checkMetric(metric, itemPath, problems);
    const reference = metric.object?.describedObject;
    if (reference === undefined || hadWrongObject || !isWrongVersion(reference)) continue;
    checkApiVersion(reference, itemPath.child("object", "describedObject", "apiVersion"), problems);
  }
  const wakes = metrics.some(({ type }) => type === "Object" || type === "External");
  if (least === 0 && !wakes) {
    const detail = "must specify at least one Object or External metric to support scaling to zero";
    problems.forbidden(path.child("metrics"), `${detail} replicas`);
  }
  for (const direction of ["scaleUp", "scaleDown"] as const) {
    checkRules(behavior?.[direction], path.child("behavior", direction), problems);
  }
}

/** Whether apiVersion is malformed; metrics may omit the group. */
function isWrongVersion({ apiVersion = "" }: ObjectReference): boolean {
  return apiVersion !== "/" && apiVersion.split("/").length > 2;
}

function checkReference({ kind, name }: ObjectReference, path: Path, problems: Problems): void {
  for (const [field, value] of Object.entries({ kind, name })) {
    if (value === "") problems.required(path.child(field));
    else {
      invalidEach(problems, path.child(field), { value, messages: isPathSegmentName(value) });
    }
  }
}

/** Error message for the group and version of a target; undefined if they are valid. */
export function apiVersionFault({ apiVersion = "", kind }: ObjectReference): string | undefined {
  const parts = apiVersion === "/" ? [""] : apiVersion.split("/");
  if (parts.length > 2) return `unexpected GroupVersion string: ${apiVersion}`;
  const group = parts.length === 2 ? parts[0] : "";
  if (group !== "" || kind === "ReplicationController") return undefined;
  return "apiVersion must specify API group";
}

function checkApiVersion(reference: ObjectReference, path: Path, problems: Problems): void {
  const fault = apiVersionFault(reference);
  if (fault !== undefined) problems.invalid(path, reference.apiVersion ?? "", fault);
}

const sources = {
  object: checkObjectMetric,
  external: checkExternalMetric,
  pods: checkPodsMetric,
  resource: checkResourceMetric,
  containerResource: checkContainerMetric,
} as const;

type Source = keyof typeof sources;

const sourceOfType: Readonly<Record<string, Source>> = {
  Object: "object",
  Pods: "pods",
  Resource: "resource",
  ContainerResource: "containerResource",
  External: "external",
};

/** Validates the first source only; an unknown type is reported twice, as in Kubernetes. */
function checkMetric(metric: Metric, path: Path, problems: Problems): void {
  const { type } = metric;
  const types = Object.keys(sourceOfType);
  const fieldPath = path.child("type");
  if (type === "") problems.required(fieldPath, "must specify a metric source type");
  const isKnown = types.includes(type);
  if (!isKnown) problems.notSupported(fieldPath, type, types);
  const present = (Object.keys(sources) as Source[]).filter((each) => metric[each] !== undefined);
  const [first] = present;
  if (first !== undefined) sources[first](metric[first] as never, path.child(first), problems);
  const expected = isKnown ? sourceOfType[type] : undefined;
  if (expected === undefined) problems.notSupported(fieldPath, type, types);
  else if (metric[expected] === undefined) {
    const detail = "must populate information for the given metric source";
    problems.required(path.child(expected), detail);
  }
  if (present.length === 1) return;
  for (const each of present) {
    if (each === expected) continue;
    problems.forbidden(path.child(each), "must populate the given metric source only");
  }
}

type Of<S extends Source> = NonNullable<Metric[S]>;

function checkIdentifier({ name }: MetricIdentifier, path: Path, problems: Problems): void {
  const fieldPath = path.child("name");
  if (name === "") problems.required(fieldPath, "must specify a metric name");
  else invalidEach(problems, fieldPath, { value: name, messages: isPathSegmentName(name) });
}

const isPositive = (amount: string): boolean =>
  Quantity.parse(amount).compare(Quantity.parse("0")) > 0;

function checkTarget(target: MetricTarget, path: Path, problems: Problems): void {
  const { type, value, averageValue, averageUtilization } = target;
  if (type === "") problems.required(path.child("type"), "must specify a metric target type");
  if (!["Utilization", "Value", "AverageValue"].includes(type)) {
    const detail = "must be either Utilization, Value, or AverageValue";
    problems.invalid(path.child("type"), type, detail);
  }
  for (const [field, amount] of Object.entries({ value, averageValue })) {
    if (amount === undefined || isPositive(amount)) continue;
    problems.invalid(path.child(field), amount, "must be positive");
  }
  if (averageUtilization === undefined || averageUtilization >= 1) return;
  const fieldPath = path.child("averageUtilization");
  problems.invalid(fieldPath, averageUtilization, "must be greater than 0");
}

function checkObjectMetric(source: Of<"object">, path: Path, problems: Problems): void {
  checkReference(source.describedObject, path.child("describedObject"), problems);
  checkIdentifier(source.metric, path.child("metric"), problems);
  checkTarget(source.target, path.child("target"), problems);
  if (source.target.value !== undefined || source.target.averageValue !== undefined) return;
  const detail = "must set either a target value or averageValue";
  problems.required(path.child("target", "averageValue"), detail);
}

function checkExternalMetric(source: Of<"external">, path: Path, problems: Problems): void {
  checkIdentifier(source.metric, path.child("metric"), problems);
  const target = path.child("target");
  checkTarget(source.target, target, problems);
  const { value, averageValue } = source.target;
  if (value === undefined && averageValue === undefined) {
    const detail = "must set either a target value for metric or a per-pod target";
    problems.required(target.child("averageValue"), detail);
  }
  if (value === undefined || averageValue === undefined) return;
  const detail = "may not set both a target value for metric and a per-pod target";
  problems.forbidden(target.child("value"), detail);
}

function checkPodsMetric(source: Of<"pods">, path: Path, problems: Problems): void {
  checkIdentifier(source.metric, path.child("metric"), problems);
  checkTarget(source.target, path.child("target"), problems);
  const { averageValue } = source.target;
  if (averageValue !== undefined) return;
  const detail = "must specify a positive target averageValue";
  problems.required(path.child("target", "averageValue"), detail);
}

function checkResourceMetric(source: Of<"resource">, path: Path, problems: Problems): void {
  if (source.name === "") problems.required(path.child("name"), "must specify a resource name");
  checkUseTarget(source.target, path.child("target"), problems);
}

function checkUseTarget(target: MetricTarget, path: Path, problems: Problems): void {
  checkTarget(target, path, problems);
  const { averageUtilization, averageValue } = target;
  if (averageUtilization === undefined && averageValue === undefined) {
    const detail = "must set either a target raw value or a target utilization";
    problems.required(path.child("averageUtilization"), detail);
  }
  if (averageUtilization === undefined || averageValue === undefined) return;
  const detail = "may not set both a target raw value and a target utilization";
  problems.forbidden(path.child("averageValue"), detail);
}

function checkContainerMetric(
  source: Of<"containerResource">,
  path: Path,
  problems: Problems,
): void {
  const { name, container } = source;
  if (name === "") problems.required(path.child("name"), "must specify a resource name");
  else checkContainerResourceName(name, path.child("name"), problems);
  const fieldPath = path.child("container");
  if (container === "") problems.required(fieldPath, "must specify a container");
  else invalidEach(problems, fieldPath, { value: container, messages: isDns1123Label(container) });
  checkUseTarget(source.target, path.child("target"), problems);
}

const maxWindowSeconds = 3600;
const maxPeriodSeconds = 1800;

function checkRules(rules: ScalingRules | undefined, path: Path, problems: Problems): void {
  if (rules === undefined) return;
  const { stabilizationWindowSeconds: window = 0, selectPolicy, policies = [] } = rules;
  const fieldPath = path.child("stabilizationWindowSeconds");
  if (window < 0) problems.invalid(fieldPath, window, "must be greater than or equal to zero");
  if (window > maxWindowSeconds) {
    problems.invalid(fieldPath, window, `must be less than or equal to ${maxWindowSeconds}`);
  }
  const choices = ["Disabled", "Max", "Min"];
  if (selectPolicy !== undefined && !choices.includes(selectPolicy)) {
    problems.notSupported(path.child("selectPolicy"), selectPolicy, choices);
  }
  if (policies.length === 0) {
    problems.required(path.child("policies"), "must specify at least one Policy");
  }
  for (const [index, { type, value, periodSeconds: period }] of policies.entries()) {
    const each = path.child("policies").index(index);
    const types = ["Percent", "Pods"];
    if (!types.includes(type)) problems.notSupported(each.child("type"), type, types);
    if (value <= 0) problems.invalid(each.child("value"), value, "must be greater than zero");
    const ofPeriod = each.child("periodSeconds");
    if (period <= 0) problems.invalid(ofPeriod, period, "must be greater than zero");
    if (period > maxPeriodSeconds) {
      problems.invalid(ofPeriod, period, `must be less than or equal to ${maxPeriodSeconds}`);
    }
  }
  if (rules.tolerance === undefined || !rules.tolerance.startsWith("-")) return;
  const detail = "must be greater or equal to 0";
  problems.invalid(path.child("tolerance"), rules.tolerance, detail);
}
