import { printJson } from "#base";
import type { Clock } from "#base";
import { type ApiObject, type Informer, type Informers, objectKey } from "#client";
import { type Node, nodes, type Pod, pods } from "#kinds";
import {
  type Domain,
  formatSeconds,
  genericFailure,
  parseLabelSelector,
  resolve,
  type Status,
  StatusError,
} from "#meta";
import { isMeasured } from "#nodes";
import { aggregatedDiscovery, documentsOf, groupOf, resources, version } from "./documents.ts";
import { containerUsage, type Moment, nodeUsage, sum, type Usage } from "./usage.ts";

/** `window` of samples. */
const window = "15s";
const windowMs = 15_000;
const byNode = "metrics-by-node";

export interface MetricsRequest {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly accept: string;
}

export interface MetricsResponse {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

export interface MetricsApiOptions {
  readonly informers: Informers;
  readonly domain: Domain;
  readonly clock: Clock;
}

interface Sample extends ApiObject {
  readonly timestamp: string;
  readonly window: string;
  readonly usage?: Usage;
  readonly containers?: readonly { readonly name: string; readonly usage: Usage }[];
}

/** Serves `metrics.k8s.io/v1beta1` from informers of nodes and pods. */
export class MetricsApi {
  private readonly documents: ReadonlyMap<string, string>;
  private readonly nodes: Informer<Node>;
  private readonly pods: Informer<Pod>;

  constructor(private readonly options: MetricsApiOptions) {
    const { informers, domain } = options;
    this.documents = documentsOf(domain);
    this.nodes = informers.of(nodes);
    this.pods = informers.of(pods);
    this.pods.addIndex(byNode, ({ spec }) => [spec?.nodeName ?? ""]);
  }

  /** Whether the informers have synced. */
  get isReady(): boolean {
    return this.nodes.synced && this.pods.synced;
  }

  /** Response to a GET, also for errors. */
  respond(request: MetricsRequest): MetricsResponse {
    try {
      return this.found(request) ?? failure(genericFailure(404).status);
    } catch (error) {
      if (error instanceof StatusError) return failure(error.status);
      throw error;
    }
  }

  private found(request: MetricsRequest): MetricsResponse | undefined {
    const { path, accept } = request;
    const { domain } = this.options;
    const form = `g=${resolve("apidiscovery.{api}", domain)};v=v2;as=APIGroupDiscoveryList`;
    if (path === "/apis" && accept.replaceAll(" ", "").includes(form)) {
      return ok(aggregatedDiscovery(domain), `application/json;${form}`);
    }
    const document = this.documents.get(path.length > 1 ? path.replace(/\/$/, "") : path);
    if (document !== undefined) return ok(document);
    const prefix = `/apis/${groupOf(domain)}/${version}/`;
    if (!path.startsWith(prefix)) return undefined;
    if (!this.isReady) throw unavailable();
    return this.metrics(path.slice(prefix.length).split("/").map(decodeURIComponent), request);
  }

  private metrics(parts: readonly string[], request: MetricsRequest): MetricsResponse | undefined {
    const isNamespaced = parts[0] === "namespaces";
    const [namespace = "", plural, name, ...more] = isNamespaced ? parts.slice(1) : ["", ...parts];
    const resource = resources.find((each) => each.plural === plural);
    if (resource === undefined || more.length > 0) return undefined;
    if (isNamespaced && !resource.namespaced) return undefined;
    const { kind } = resource;
    if (name !== undefined) {
      if (resource.namespaced && !isNamespaced) return undefined;
      const sample = this.sample(kind, namespace === "" ? name : `${namespace}/${name}`);
      if (sample === undefined) throw missing(`${plural}.${groupOf(this.options.domain)}`, name);
      return this.printed([sample], request, { kind, ...sample });
    }
    const items = this.samples(kind, namespace, request.query);
    const typed = items.map((item) => ({ ...this.typeMeta(kind), ...item }));
    return this.printed(items, request, { kind: `${kind}List`, metadata: {}, items: typed });
  }

  private typeMeta(kind: string) {
    return { kind, apiVersion: `${groupOf(this.options.domain)}/${version}` };
  }

  private printed(
    samples: readonly Sample[],
    { accept }: MetricsRequest,
    { kind, ...value }: { readonly kind: string; readonly [field: string]: unknown },
  ): MetricsResponse {
    const { domain } = this.options;
    const [first = ""] = accept.replaceAll(" ", "").split(",");
    const isTable = first.includes(`as=Table;v=v1;g=${resolve("meta.{api}", domain)}`);
    const shown = isTable ? tableOf(samples, domain) : { ...this.typeMeta(kind), ...value };
    return ok(printJson(shown));
  }

  private sample(kind: string, key: string): Sample | undefined {
    if (kind === "NodeMetrics") {
      const node = this.nodes.get(key);
      return node && this.nodeSample(node);
    }
    const pod = this.pods.get(key);
    return pod !== undefined && isMeasured(pod) ? this.podSample(pod) : undefined;
  }

  private samples(kind: string, namespace: string, query: URLSearchParams): readonly Sample[] {
    const selector = parseLabelSelector(query.get("labelSelector") ?? "");
    const name = nameIn(query.get("fieldSelector") ?? "");
    const isWanted = ({ metadata }: ApiObject) =>
      (namespace === "" || metadata.namespace === namespace) &&
      (name === undefined || metadata.name === name) &&
      selector.matches(metadata.labels ?? {});
    const inOrder = <T extends ApiObject>(all: Iterable<T>) =>
      [...all].filter(isWanted).sort((a, b) => (objectKey(a) < objectKey(b) ? -1 : 1));
    return kind === "NodeMetrics"
      ? inOrder(this.nodes.all()).map((node) => this.nodeSample(node))
      : inOrder(this.pods.all())
          .filter(isMeasured)
          .map((pod) => this.podSample(pod));
  }

  private nodeSample(node: Node): Sample {
    const onNode = this.pods.indexed(byNode, node.metadata.name);
    return { ...this.head(node), usage: nodeUsage(onNode, this.moment()) };
  }

  private podSample(pod: Pod): Sample {
    return { ...this.head(pod), containers: containerUsage(pod, this.moment()) };
  }

  private moment(): Moment {
    const { domain, clock } = this.options;
    return { domain, now: clock.now() };
  }

  private head({ metadata: { name, namespace, labels } }: ApiObject): Sample {
    const now = this.options.clock.now();
    // Samples are taken at the end of each window.
    const at = Math.floor(now / windowMs) * windowMs;
    const metadata = {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      creationTimestamp: timeText(now),
      ...(labels === undefined ? {} : { labels }),
    };
    return { metadata: metadata as Sample["metadata"], timestamp: timeText(at), window };
  }
}

function timeText(ms: number): string {
  return formatSeconds({ seconds: Math.floor(ms / 1000), nanos: 0 });
}

/** Table with metrics-server's columns. */
function tableOf(samples: readonly Sample[], domain: Domain): object {
  const column = (name: string, type: string, format: string, description: string) => ({
    name,
    type,
    format,
    description,
    priority: 0,
  });
  return {
    kind: "Table",
    apiVersion: resolve("meta.{api}/v1", domain),
    metadata: {},
    columnDefinitions: [
      column("Name", "string", "name", "Name of the node or pod."),
      column("cpu", "string", "quantity", "CPU in use."),
      column("memory", "string", "quantity", "Memory in use."),
      column("Window", "string", "duration", "Interval that was measured."),
    ],
    rows: samples.map((sample) => {
      const { cpu, memory } = sample.usage ?? sum((sample.containers ?? []).map((c) => c.usage));
      return {
        cells: [sample.metadata.name, cpu, memory, sample.window],
        object: {
          kind: "PartialObjectMetadata",
          apiVersion: resolve("meta.{api}/v1", domain),
          metadata: sample.metadata,
        },
      };
    }),
  };
}

/** Name in a field selector `metadata.name=x`, the only supported field. */
function nameIn(selector: string): string | undefined {
  if (selector === "") return undefined;
  const [, name] = /^metadata\.name==?([^,=!]+)$/.exec(selector) ?? [];
  if (name === undefined)
    throw statusOf(400, "BadRequest", `unsupported field selector: ${selector}`);
  return name;
}

function missing(resource: string, name: string): StatusError {
  return statusOf(404, "NotFound", `${resource} ${JSON.stringify(name)} not found`);
}

function unavailable(): StatusError {
  return statusOf(503, "ServiceUnavailable", "nodes and pods are not known yet");
}

export function statusOf(code: number, reason: string, message: string): StatusError {
  const head = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure" } as const;
  return new StatusError({ ...head, message, reason, code } as Status);
}

export function failure(status: Status): MetricsResponse {
  return {
    status: status.code ?? 500,
    contentType: "application/json",
    body: printJson(status),
  };
}

function ok(body: string, contentType = "application/json"): MetricsResponse {
  return { status: 200, contentType, body };
}
