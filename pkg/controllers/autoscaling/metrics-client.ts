import type { ApiObject, Client } from "#client";
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

interface ResourceMetrics extends ApiObject {
  readonly timestamp?: string;
  readonly window?: string;
  readonly containers?: readonly {
    readonly name: string;
    readonly usage?: Readonly<Record<string, string>>;
  }[];
}

interface MetricValue {
  readonly describedObject?: { readonly name?: string };
  readonly timestamp?: string;
  readonly windowSeconds?: number;
  readonly value: string;
}

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
    const { items = [] } = await this.read<ResourceMetrics>(path, { labelSelector }).catch(
      (error: unknown) => {
        const text = clientText(error, `get pods.${group}`);
        throw new Error(`unable to fetch metrics from resource metrics API: ${text}`);
      },
    );
    if (items.length === 0) throw new Error("no metrics returned from resource metrics API");
    const found: PodMetrics = new Map();
    for (const { metadata, timestamp = "", window = "0s", containers = [] } of items) {
      const counted =
        container === "" ? containers : containers.filter(({ name }) => name === container);
      const usages = counted.map(({ usage }) => usage?.[resource]);
      if (usages.length === 0 || usages.includes(undefined)) continue;
      const value = usages.reduce((sum, usage) => sum + milliValue(usage!), 0);
      found.set(metadata.name, { value, at: Date.parse(timestamp), windowMs: durationMs(window) });
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
    const items = await this.custom(path, { labelSelector, metricLabelSelector });
    if (items.length === 0) throw new Error("no metrics returned from custom metrics API");
    return new Map(
      items.map(({ describedObject, timestamp = "", windowSeconds, value }) => {
        const windowMs = windowSeconds === undefined ? defaultWindowMs : windowSeconds * 1000;
        const sample = { value: milliValue(value), at: Date.parse(timestamp), windowMs };
        return [describedObject?.name ?? "", sample];
      }),
    );
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
    const [first] = await this.custom(path, { metricLabelSelector });
    if (first === undefined) {
      const text = `the custom metrics API returned no metrics`;
      throw new Error(`unable to fetch metrics from custom metrics API: ${text}`);
    }
    return milliValue(first.value);
  }

  /** All values of an external metric, in thousandths. */
  async externalMetric(
    metric: string,
    of: { readonly namespace: string; readonly metricSelector: string },
  ): Promise<readonly number[]> {
    const { namespace, metricSelector: labelSelector } = of;
    const group = resolve("external.metrics.{api}", this.client.domain);
    const path = ["apis", group, "v1beta1", "namespaces", namespace, metric];
    const { items = [] } = await this.read<MetricValue>(path, { labelSelector }).catch(
      (error: unknown) => {
        const text = clientText(error, `get ${metric}.${group}`);
        throw new Error(`unable to fetch metrics from external metrics API: ${text}`);
      },
    );
    if (items.length === 0) throw new Error("no metrics returned from external metrics API");
    return items.map(({ value }) => milliValue(value));
  }

  private async custom(path: readonly string[], query: Readonly<Record<string, string>>) {
    const group = resolve("custom.metrics.{api}", this.client.domain);
    const { items = [] } = await this.read<MetricValue>(
      ["apis", group, "v1beta2", ...path],
      query,
    ).catch((error: unknown) => {
      const text = clientText(error, `get ${path.slice(2).join("/")}.${group}`);
      throw new Error(`unable to fetch metrics from custom metrics API: ${text}`);
    });
    return items;
  }

  private async read<T>(
    path: readonly string[],
    query: Readonly<Record<string, string>>,
  ): Promise<{ readonly items?: readonly T[] }> {
    const search = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ""));
    const suffix = search.size === 0 ? "" : `?${search}`;
    const text = path.map(encodeURIComponent).join("/");
    return (await this.client.getRaw(`/${text}${suffix}`)) as {
      readonly items?: readonly T[];
    };
  }
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
