import { JsonTypeFault, TypedFields } from "#base";
import type { Client } from "#client";
import { genericFailure, parseDuration, Quantity, resolve, StatusError } from "#meta";
import type { ObjectReference } from "./autoscaling-kinds.ts";

/** Metric sample of a pod. */
export interface PodMetric {
  /** In thousandths. */
  readonly value: number;
  /** In milliseconds since 1970. */
  readonly at: number;
  /** Period over which the sample was taken. */
  readonly windowMs: number;
}

/** Samples by name of the pod. */
export type PodMetrics = Map<string, PodMetric>;

interface GroupVersionRef {
  readonly version: string;
}

interface ApiGroupList {
  readonly groups?: readonly {
    readonly name: string;
    readonly preferredVersion?: GroupVersionRef;
    readonly versions: readonly GroupVersionRef[];
  }[];
}

/** Versions of the custom metrics API that the autoscaler can read; their values have the same fields. */
const customVersions = ["v1beta1", "v1beta2"];
/** Window of custom metrics without `windowSeconds`. */
const defaultWindowMs = 60_000;

/**
 * Client of the metrics APIs (metrics.k8s.io, custom and external metrics), which aggregated API servers
 * provide. Error messages are those that kube-controller-manager writes to conditions.
 */
export class MetricsClient {
  constructor(private readonly client: Client) {}

  /** Usage of a resource by pod, or by one container of each pod if `container` is not "". */
  async resourceMetrics(
    resource: string,
    of: { readonly namespace: string; readonly selector: string; readonly container: string },
  ): Promise<PodMetrics> {
    const { namespace, selector: labelSelector, container } = of;
    const group = resolve("metrics.{api}", this.client.domain);
    const path = ["apis", group, "v1beta1", "namespaces", namespace, "pods"];
    const items = await this.read(path, { labelSelector }, podUsageIn).catch((error: unknown) => {
      const text = clientText(error, `get pods.${group}`);
      throw new Error(`unable to fetch metrics from resource metrics API: ${text}`);
    });
    if (items.length === 0) throw new Error("no metrics returned from resource metrics API");
    const found: PodMetrics = new Map();
    for (const { name, at, windowMs, containers } of items) {
      const counted = containers.filter((each) => container === "" || each.name === container);
      const usages = counted.map(({ usage }) => usage.get(resource));
      if (usages.length === 0 || usages.includes(undefined)) continue;
      const value = usages.reduce<number>((sum, usage) => sum + usage!, 0);
      found.set(name, { value, at, windowMs });
    }
    return found;
  }

  /** A custom metric of the pods that match a selector. */
  async podsMetric(
    metric: string,
    of: { readonly namespace: string; readonly selector: string; readonly metricSelector: string },
  ): Promise<PodMetrics> {
    const { namespace, selector: labelSelector, metricSelector: metricLabelSelector } = of;
    const path = ["namespaces", namespace, "pods", "*", metric];
    const version = await this.customVersion();
    const items = await this.custom(path, { labelSelector, metricLabelSelector }, version);
    if (items.length === 0) throw new Error("no metrics returned from custom metrics API");
    return new Map(items.map(({ name, ...sample }) => [name, sample]));
  }

  /** A custom metric of one object, in thousandths. */
  async objectMetric(
    metric: string,
    of: {
      readonly namespace: string;
      readonly object: ObjectReference;
      readonly metricSelector: string;
    },
  ): Promise<number> {
    const { namespace, object, metricSelector: metricLabelSelector } = of;
    const group = groupOf(object);
    // An absent API is reported before a kind that does not exist.
    const version = await this.customVersion();
    const { resources } = await this.client.discover();
    const found = resources.find((each) => each.group === group && each.kind === object.kind);
    const groupKind = group === "" ? object.kind : `${object.kind}.${group}`;
    if (found === undefined) {
      const text = `no matches for kind "${object.kind}" in group "${group}"`;
      throw new Error(`unable to fetch metrics from custom metrics API: ${text}`);
    }
    const plural = group === "" ? found.plural : `${found.plural}.${group}`;
    // For kind Namespace only the autoscaler's own namespace is readable; the given name is ignored.
    const path =
      groupKind === "Namespace"
        ? ["namespaces", namespace, "metrics", metric]
        : ["namespaces", namespace, plural, object.name, metric];
    const [first] = await this.custom(path, { metricLabelSelector }, version);
    if (first === undefined) {
      const text = `the custom metrics API returned no metrics`;
      throw new Error(`unable to fetch metrics from custom metrics API: ${text}`);
    }
    return first.value;
  }

  /** All values of an external metric, in thousandths. */
  async externalMetric(
    metric: string,
    of: { readonly namespace: string; readonly metricSelector: string },
  ): Promise<readonly number[]> {
    const { namespace, metricSelector: labelSelector } = of;
    const group = resolve("external.metrics.{api}", this.client.domain);
    const path = ["apis", group, "v1beta1", "namespaces", namespace, metric];
    const values = await this.read(path, { labelSelector }, valueIn).catch((error: unknown) => {
      const text = clientText(error, `get ${metric}.${group}`);
      throw new Error(`unable to fetch metrics from external metrics API: ${text}`);
    });
    if (values.length === 0) throw new Error("no metrics returned from external metrics API");
    return values;
  }

  private get customGroup(): string {
    return resolve("custom.metrics.{api}", this.client.domain);
  }

  /** Version of the custom metrics API to read: the preferred one, or the first that is known. */
  private async customVersion(): Promise<string> {
    const { groups = [] } = (await this.client.getRaw("/apis")) as ApiGroupList;
    const found = groups.find(({ name }) => name === this.customGroup);
    const listed = [found?.preferredVersion, ...(found?.versions ?? [])];
    const known = listed.find((each) => customVersions.includes(each?.version ?? ""));
    if (known !== undefined) return known.version;
    const text =
      found === undefined
        ? `no custom metrics API (${this.customGroup}) registered`
        : "no known available metric versions found";
    throw new Error(`unable to fetch metrics from custom metrics API: ${text}`);
  }

  private custom(
    path: readonly string[],
    query: Readonly<Record<string, string>>,
    version: string,
  ) {
    const group = this.customGroup;
    const segments = ["apis", group, version, ...path];
    return this.read(segments, query, customMetricIn).catch((error: unknown) => {
      const text = clientText(error, `get ${path.slice(2).join("/")}.${group}`);
      throw new Error(`unable to fetch metrics from custom metrics API: ${text}`);
    });
  }

  /** The decoded items of a list. @throws JsonTypeFault for an answer that is no such list */
  private async read<T>(
    path: readonly string[],
    query: Readonly<Record<string, string>>,
    decode: (item: TypedFields) => T,
  ): Promise<readonly T[]> {
    const search = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ""));
    const suffix = search.size === 0 ? "" : `?${search}`;
    const text = path.map(encodeURIComponent).join("/");
    const list = TypedFields.of(await this.client.getRaw(`/${text}${suffix}`), "v1beta1.List");
    const [kind, apiVersion] = [list.text("kind"), list.text("apiVersion")];
    const expected = path.slice(1, 3).join("/");
    const isOther = apiVersion !== "" && apiVersion !== expected;
    if (isOther || (kind !== "" && !kinds.includes(kind))) {
      throw new JsonTypeFault(`no kind "${kind}" is registered for version "${apiVersion}"`);
    }
    return list.objects("items").map(decode);
  }
}

const kinds = ["PodMetricsList", "MetricValueList", "ExternalMetricValueList"];

function podUsageIn(item: TypedFields) {
  return {
    name: item.object("metadata").text("name"),
    at: timeIn(item),
    windowMs: item.has("window") ? durationMs(item.text("window")) : 0,
    containers: item.objects("containers").map((container) => {
      const usage = container.object("usage");
      const resources = usage.keys().map((name) => [name, quantityIn(usage, name)] as const);
      return { name: container.text("name"), usage: new Map(resources) };
    }),
  };
}

function customMetricIn(item: TypedFields): PodMetric & { readonly name: string } {
  const windowMs = item.has("windowSeconds")
    ? item.integer("windowSeconds") * 1000
    : defaultWindowMs;
  const name = item.object("describedObject").text("name");
  return { name, value: quantityIn(item, "value"), at: timeIn(item), windowMs };
}

function valueIn(item: TypedFields): number {
  timeIn(item);
  return quantityIn(item, "value");
}

/** A quantity in thousandths, which may be a number in JSON; absent = 0. */
function quantityIn(fields: TypedFields, key: string): number {
  return fields.has(key) ? milliValue(fields.scalar(key)) : 0;
}

/** The field `timestamp` in ms since 1970; absent = Go's zero time. */
function timeIn(item: TypedFields): number {
  const text = item.has("timestamp") ? item.text("timestamp") : "0001-01-01T00:00:00Z";
  const at = /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : NaN;
  if (!Number.isNaN(at)) return at;
  throw new JsonTypeFault(`parsing time ${JSON.stringify(text)}: it is not in RFC 3339`);
}

function groupOf({ apiVersion = "" }: ObjectReference): string {
  return apiVersion.includes("/") ? apiVersion.split("/")[0]! : "";
}

/** Parses a quantity to thousandths, rounded away from zero. */
export function milliValue(quantity: string): number {
  return Number(Quantity.parse(quantity).milliValue());
}

function durationMs(text: string): number {
  return Number(parseDuration(text)) / 1e6;
}

/** Message as in client-go, which appends the request if the response has only a status code. */
function clientText(error: unknown, request: string): string {
  if (!(error instanceof StatusError))
    return String(error instanceof Error ? error.message : error);
  const bare = genericFailure(404).message;
  return error.message === bare ? `${bare} (${request})` : error.message;
}
