/**
 * Conversion between v1 and v2. What v1 has no field for is stored in annotations of the v1 object:
 * further metrics, their values and conditions as JSON of v1, the behavior as JSON with Go's field
 * names.
 */
import { fromJson, parseJson, type StructType, toJson } from "#schema";
import { kubernetes } from "#meta";
import { deepClone, printJson } from "#base";
import type {
  Autoscaler,
  Behavior,
  Metric,
  MetricStatus,
  MetricTarget,
  ScalingRules,
} from "./autoscaler-structs.ts";
import {
  type AutoscalerV1,
  conditionV1,
  metricSpecV1,
  metricStatusV1,
  type MetricStatusV1,
  type MetricV1,
} from "./autoscaler-v1-structs.ts";

const prefix = `autoscaling.alpha.${kubernetes.label}`;
const annotationNames = {
  metrics: `${prefix}/metrics`,
  statuses: `${prefix}/current-metrics`,
  conditions: `${prefix}/conditions`,
  behavior: `${prefix}/behavior`,
};

interface HasMetadata {
  metadata: { annotations?: Record<string, string> };
}

/** Removes the annotations, for which v2 has fields. Modifies the object. */
export function dropRoundTripAnnotations({ metadata }: HasMetadata): void {
  const remaining = Object.entries(metadata.annotations ?? {}).filter(
    ([key]) => !Object.values(annotationNames).includes(key),
  );
  if (remaining.length > 0) metadata.annotations = Object.fromEntries(remaining);
  else delete metadata.annotations;
}

const isCpu = (metric: Metric): boolean =>
  metric.resource?.name === "cpu" && metric.resource.target.averageUtilization !== undefined;

export function toV2(object: AutoscalerV1): Autoscaler {
  const { spec, status } = object;
  const { targetCPUUtilizationPercentage: target, ...kept } = spec;
  const { currentCPUUtilizationPercentage: cpu, ...observed } = status;
  const noted = new Annotations(object.metadata.annotations ?? {});
  const ofCpu: Metric[] = target === undefined ? [] : [cpuMetric(target)];
  const others = noted.list(annotationNames.metrics, metricSpecV1, metricUp) ?? [];
  const metrics = [...others, ...ofCpu];
  const statuses =
    noted.list(annotationNames.statuses, metricStatusV1, statusUp) ??
    (cpu === undefined ? null : [cpuStatus(cpu)]);
  const conditions = noted.list(annotationNames.conditions, conditionV1, (each) => each);
  const behavior = noted.behavior();
  const converted: Autoscaler = {
    metadata: { ...object.metadata },
    spec: {
      ...kept,
      // Kubernetes' conversion sets the default, too, and so does each conversion for a field manager.
      metrics: metrics.length > 0 ? metrics : defaultMetrics(),
      ...(behavior === undefined ? {} : { behavior }),
    },
    status: { ...observed, currentMetrics: statuses, ...(conditions ? { conditions } : {}) },
  };
  if (converted.status.currentReplicas === 0) delete converted.status.currentReplicas;
  dropRoundTripAnnotations(converted as HasMetadata);
  return converted;
}

/** The metrics of an autoscaler that names none. */
export function defaultMetrics(): Metric[] {
  return [cpuMetric(80)];
}

function cpuMetric(averageUtilization: number): Metric {
  const target = { type: "Utilization", averageUtilization };
  return { type: "Resource", resource: { name: "cpu", target } };
}

function cpuStatus(averageUtilization: number): MetricStatus {
  return { type: "Resource", resource: { name: "cpu", current: { averageUtilization } } };
}

export function toV1(object: Autoscaler): AutoscalerV1 {
  const { metrics = [], behavior, ...spec } = object.spec;
  const { currentMetrics, conditions = [], ...status } = object.status;
  const target = metrics.find(isCpu)?.resource?.target.averageUtilization;
  const cpu = currentMetrics?.find(
    ({ resource }) => resource?.name === "cpu" && resource.current.averageUtilization !== undefined,
  )?.resource?.current.averageUtilization;
  const others = metrics.filter((metric) => !isCpu(metric)).map(metricDown);
  const statuses = (currentMetrics ?? []).map(statusDown);
  const notes: [string, string][] = [];
  const note = (key: string, struct: StructType<any>, values: readonly object[]) => {
    if (values.length === 0) return;
    notes.push([key, `[${values.map((each) => toJson(struct, each as never)).join(",")}]`]);
  };
  note(annotationNames.metrics, metricSpecV1, others);
  note(annotationNames.statuses, metricStatusV1, statuses);
  note(annotationNames.conditions, conditionV1, conditions);
  if (behavior !== undefined) notes.push([annotationNames.behavior, goBehavior(behavior)]);
  const annotations = { ...object.metadata.annotations, ...Object.fromEntries(notes) };
  return {
    metadata: { ...object.metadata, ...(notes.length > 0 ? { annotations } : {}) },
    spec: {
      ...spec,
      ...(target === undefined ? {} : { targetCPUUtilizationPercentage: target }),
    },
    status: {
      ...status,
      currentReplicas: status.currentReplicas ?? 0,
      ...(cpu === undefined ? {} : { currentCPUUtilizationPercentage: cpu }),
    },
  };
}

/** Reads JSON from annotations; malformed ones count as absent. */
class Annotations {
  constructor(private readonly values: Readonly<Record<string, string>>) {}

  private json(key: string): unknown {
    if (!Object.hasOwn(this.values, key)) return undefined;
    try {
      return parseJson(this.values[key] ?? "").value;
    } catch {
      return undefined;
    }
  }

  list<T>(key: string, struct: StructType<any>, up: (value: any) => T): T[] | undefined {
    const value = this.json(key);
    if (!Array.isArray(value)) return undefined;
    try {
      return value.map((each) => up(fromJson(struct, each)));
    } catch {
      return undefined;
    }
  }

  behavior(): Behavior | undefined {
    const value = this.json(annotationNames.behavior);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    const { ScaleUp: up, ScaleDown: down } = value as GoBehavior;
    if (!up && !down) return undefined;
    return {
      ...(up ? { scaleUp: rulesUp(up) } : {}),
      ...(down ? { scaleDown: rulesUp(down) } : {}),
    };
  }
}

interface GoRules {
  readonly StabilizationWindowSeconds?: number | null;
  readonly SelectPolicy?: string | null;
  readonly Policies?: readonly GoPolicy[] | null;
  readonly Tolerance?: string | null;
}

interface GoPolicy {
  readonly Type?: string;
  readonly Value?: number;
  readonly PeriodSeconds?: number;
}

interface GoBehavior {
  readonly ScaleUp?: GoRules | null;
  readonly ScaleDown?: GoRules | null;
}

function goBehavior({ scaleUp, scaleDown }: Behavior): string {
  return printJson({ ScaleUp: goRules(scaleUp), ScaleDown: goRules(scaleDown) });
}

function goRules(rules: ScalingRules | undefined): GoRules | null {
  if (rules === undefined) return null;
  const policies = rules.policies?.map(({ type, value, periodSeconds }) => {
    return { Type: type, Value: value, PeriodSeconds: periodSeconds };
  });
  return {
    StabilizationWindowSeconds: rules.stabilizationWindowSeconds ?? null,
    SelectPolicy: rules.selectPolicy ?? null,
    Policies: policies ?? null,
    Tolerance: rules.tolerance ?? null,
  };
}

function rulesUp(rules: GoRules): ScalingRules {
  const { StabilizationWindowSeconds: seconds, SelectPolicy: select, Tolerance: tolerance } = rules;
  const policies = rules.Policies?.map(({ Type = "", Value = 0, PeriodSeconds = 0 }) => {
    return { type: Type, value: Value, periodSeconds: PeriodSeconds };
  });
  return {
    ...(typeof seconds === "number" ? { stabilizationWindowSeconds: seconds } : {}),
    ...(typeof select === "string" ? { selectPolicy: select } : {}),
    ...(policies === undefined ? {} : { policies }),
    ...(typeof tolerance === "string" ? { tolerance } : {}),
  };
}

/** Copy without members that are undefined. */
function withoutUndefined<T extends object>(members: { [K in keyof T]: T[K] | undefined }): T {
  const kept = Object.entries(members).filter(([, value]) => value !== undefined);
  return deepClone(Object.fromEntries(kept)) as T;
}

function metricUp(metric: MetricV1): Metric {
  const { type, object, pods, resource, containerResource, external } = metric;
  return withoutUndefined<Metric>({
    type,
    object: object && {
      describedObject: object.target,
      target: objectTarget(object),
      metric: identifier(object.metricName, object.selector),
    },
    pods: pods && {
      metric: identifier(pods.metricName, pods.selector),
      target: { type: "AverageValue", averageValue: pods.targetAverageValue },
    },
    resource: resource && { name: resource.name, target: useTarget(resource) },
    containerResource: containerResource && {
      name: containerResource.name,
      target: useTarget(containerResource),
      container: containerResource.container,
    },
    external: external && {
      metric: identifier(external.metricName, external.metricSelector),
      target: withoutUndefined({
        type: external.targetValue === undefined ? "AverageValue" : "Value",
        value: external.targetValue,
        averageValue: external.targetAverageValue,
      }),
    },
  });
}

type Selector = NonNullable<NonNullable<Metric["pods"]>["metric"]["selector"]>;

function identifier(name: string, selector: Selector | undefined) {
  return selector === undefined ? { name } : { name, selector };
}

function objectTarget({ targetValue, averageValue }: NonNullable<MetricV1["object"]>) {
  if (averageValue === undefined) return { type: "Value", value: targetValue };
  const value = targetValue === "0" ? {} : { value: targetValue };
  return { type: "AverageValue", ...value, averageValue };
}

function useTarget({
  targetAverageUtilization: averageUtilization,
  targetAverageValue: averageValue,
}: NonNullable<MetricV1["resource"]>) {
  const type = averageUtilization === undefined ? "AverageValue" : "Utilization";
  return withoutUndefined<MetricTarget>({
    type,
    value: undefined,
    averageValue,
    averageUtilization,
  });
}

function metricDown(metric: Metric): MetricV1 {
  const { type, object, pods, resource, containerResource, external } = metric;
  return withoutUndefined<MetricV1>({
    type,
    object: object && {
      target: object.describedObject,
      metricName: object.metric.name,
      targetValue: object.target.value ?? "0",
      ...withoutUndefined({
        selector: object.metric.selector,
        averageValue: object.target.averageValue,
      }),
    },
    pods: pods && {
      metricName: pods.metric.name,
      targetAverageValue: pods.target.averageValue ?? "0",
      ...withoutUndefined({ selector: pods.metric.selector }),
    },
    resource: resource && { name: resource.name, ...useDown(resource.target) },
    containerResource: containerResource && {
      name: containerResource.name,
      ...useDown(containerResource.target),
      container: containerResource.container,
    },
    external: external && {
      metricName: external.metric.name,
      ...withoutUndefined({
        metricSelector: external.metric.selector,
        targetValue: external.target.value,
        targetAverageValue: external.target.averageValue,
      }),
    },
  });
}

function useDown({ averageUtilization, averageValue }: NonNullable<Metric["resource"]>["target"]) {
  return withoutUndefined<{ targetAverageUtilization?: number; targetAverageValue?: string }>({
    targetAverageUtilization: averageUtilization,
    targetAverageValue: averageValue,
  });
}

function statusUp(status: MetricStatusV1): MetricStatus {
  const { type, object, pods, resource, containerResource, external } = status;
  return withoutUndefined<MetricStatus>({
    type,
    object: object && {
      metric: identifier(object.metricName, object.selector),
      current: withoutUndefined({ value: object.currentValue, averageValue: object.averageValue }),
      describedObject: object.target,
    },
    pods: pods && {
      metric: identifier(pods.metricName, pods.selector),
      current: { averageValue: pods.currentAverageValue },
    },
    resource: resource && { name: resource.name, current: useCurrent(resource) },
    containerResource: containerResource && {
      name: containerResource.name,
      current: useCurrent(containerResource),
      container: containerResource.container,
    },
    external: external && {
      metric: identifier(external.metricName, external.metricSelector),
      current: withoutUndefined({
        value: external.currentValue,
        averageValue: external.currentAverageValue,
      }),
    },
  });
}

function useCurrent(use: NonNullable<MetricStatusV1["resource"]>) {
  return withoutUndefined<{ averageValue?: string; averageUtilization?: number }>({
    averageValue: use.currentAverageValue,
    averageUtilization: use.currentAverageUtilization,
  });
}

function statusDown(status: MetricStatus): MetricStatusV1 {
  const { type, object, pods, resource, containerResource, external } = status;
  return withoutUndefined<MetricStatusV1>({
    type,
    object: object && {
      target: object.describedObject,
      metricName: object.metric.name,
      currentValue: object.current.value ?? "0",
      ...withoutUndefined({
        selector: object.metric.selector,
        averageValue: object.current.averageValue,
      }),
    },
    pods: pods && {
      metricName: pods.metric.name,
      currentAverageValue: pods.current.averageValue ?? "0",
      ...withoutUndefined({ selector: pods.metric.selector }),
    },
    resource: resource && { name: resource.name, ...currentDown(resource.current) },
    containerResource: containerResource && {
      name: containerResource.name,
      ...currentDown(containerResource.current),
      container: containerResource.container,
    },
    external: external && {
      metricName: external.metric.name,
      currentValue: external.current.value ?? "0",
      ...withoutUndefined({
        metricSelector: external.metric.selector,
        currentAverageValue: external.current.averageValue,
      }),
    },
  });
}

function currentDown(current: NonNullable<MetricStatus["resource"]>["current"]) {
  const { averageUtilization, averageValue = "0" } = current;
  return {
    ...withoutUndefined({ currentAverageUtilization: averageUtilization }),
    currentAverageValue: averageValue,
  };
}
