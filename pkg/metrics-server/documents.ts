/** Discovery and OpenAPI of `metrics.k8s.io/v1beta1`. */
import { printJson } from "#base";
import { createHash } from "node:crypto";
import type { Domain } from "#meta";
import { resolve } from "#meta";

export const version = "v1beta1";

export function groupOf(domain: Domain): string {
  return resolve("metrics.{api}", domain);
}

interface MetricsResource {
  readonly plural: "nodes" | "pods";
  readonly kind: "NodeMetrics" | "PodMetrics";
  readonly namespaced: boolean;
}

export const resources: readonly MetricsResource[] = [
  { plural: "nodes", kind: "NodeMetrics", namespaced: false },
  { plural: "pods", kind: "PodMetrics", namespaced: true },
];

const verbs = ["get", "list"];

/** Documents by path, as JSON text. */
export function documentsOf(domain: Domain): ReadonlyMap<string, string> {
  const group = groupOf(domain);
  const groupVersion = `${group}/${version}`;
  const entry = { groupVersion, version };
  const apiGroup = { name: group, versions: [entry], preferredVersion: entry };
  const v3 = printJson(openApiV3(domain));
  const hash = createHash("sha512").update(v3).digest("hex").toUpperCase();
  const serverRelativeURL = `/openapi/v3/apis/${groupVersion}?hash=${hash}`;
  const documents: Readonly<Record<string, unknown>> = {
    "/apis": { kind: "APIGroupList", apiVersion: "v1", groups: [apiGroup] },
    [`/apis/${group}`]: { kind: "APIGroup", apiVersion: "v1", ...apiGroup },
    [`/apis/${groupVersion}`]: {
      kind: "APIResourceList",
      apiVersion: "v1",
      groupVersion,
      resources: resources.map(({ plural, kind, namespaced }) => ({
        name: plural,
        singularName: "",
        namespaced,
        kind,
        verbs,
      })),
    },
    "/openapi/v2": openApiV2(domain),
    "/openapi/v3": { paths: { [`apis/${groupVersion}`]: { serverRelativeURL } } },
  };
  const texts = Object.entries(documents).map(([path, value]) => [path, JSON.stringify(value)]);
  return new Map([...texts, [`/openapi/v3/apis/${groupVersion}`, v3]] as [string, string][]);
}

/** Aggregated discovery of the group. */
export function aggregatedDiscovery(domain: Domain): string {
  const responseKind = (kind: string) => ({ group: "", version: "", kind });
  const entries = resources.map(({ plural, kind, namespaced }) => ({
    resource: plural,
    responseKind: responseKind(kind),
    scope: namespaced ? "Namespaced" : "Cluster",
    singularResource: "",
    verbs,
  }));
  return printJson({
    kind: "APIGroupDiscoveryList",
    apiVersion: resolve("apidiscovery.{api}/v2", domain),
    metadata: {},
    items: [
      {
        metadata: { name: groupOf(domain) },
        versions: [{ version, resources: entries, freshness: "Current" }],
      },
    ],
  });
}

type Schemas = Readonly<Record<string, object>>;

function text(description: string) {
  return { type: "string", description };
}

const metadata = {
  type: "object",
  description: "Name, namespace, labels and time of the sample.",
  properties: {
    name: text("Name of the node or pod."),
    namespace: text("Namespace of the pod."),
    creationTimestamp: { ...text("Time of the response."), format: "date-time" },
    labels: {
      type: "object",
      description: "Labels of the node or pod.",
      additionalProperties: { type: "string" },
    },
  },
};

/** Schemas by name; `reference` creates a $ref of the OpenAPI version. */
function schemasOf(domain: Domain, reference: (name: string) => object): Schemas {
  const name = (kind: string) => `io.k8s.metrics.pkg.apis.metrics.v1beta1.${kind}`;
  const meta = {
    apiVersion: text("Version of the schema of this object."),
    kind: text("Kind of this object."),
  };
  const usage = {
    type: "object",
    description: "Usage by resource: cpu and memory.",
    additionalProperties: { type: "string" },
  };
  const sample = {
    timestamp: { ...text("End of the interval that was measured."), format: "date-time" },
    window: text("Length of the interval that was measured."),
  };
  const object = (kind: string, description: string, properties: object) => ({
    type: "object",
    description,
    properties: { ...meta, metadata, ...properties },
    "x-kubernetes-group-version-kind": [{ group: groupOf(domain), kind, version }],
  });
  const list = (kind: string) =>
    object(`${kind}List`, `A list of ${kind}.`, {
      metadata: { type: "object", description: "Metadata of the list." },
      items: { type: "array", description: "The samples.", items: reference(name(kind)) },
    });
  const container = {
    type: "object",
    description: "Usage of one container.",
    properties: { name: text("Name of the container."), usage },
  };
  return {
    [name("ContainerMetrics")]: container,
    [name("NodeMetrics")]: object("NodeMetrics", "Usage of a node.", { ...sample, usage }),
    [name("NodeMetricsList")]: list("NodeMetrics"),
    [name("PodMetrics")]: object("PodMetrics", "Usage of a pod by its containers.", {
      ...sample,
      containers: {
        type: "array",
        description: "Usage of each container of the pod.",
        items: reference(name("ContainerMetrics")),
      },
    }),
    [name("PodMetricsList")]: list("PodMetrics"),
  };
}

interface Operation {
  readonly path: string;
  readonly parameters: readonly string[];
  readonly schema: string;
  readonly details: object;
}

function operationsOf(domain: Domain): readonly Operation[] {
  const base = `/apis/${groupOf(domain)}/${version}`;
  return resources.flatMap(({ plural, kind, namespaced }) => {
    const places = namespaced ? ["", "/namespaces/{namespace}"] : [""];
    const object = namespaced ? `${base}/namespaces/{namespace}/${plural}` : `${base}/${plural}`;
    const operation = (path: string, action: string, schema: string): Operation => ({
      path,
      parameters: [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name),
      schema: `io.k8s.metrics.pkg.apis.metrics.v1beta1.${schema}`,
      details: {
        description: action === "get" ? `Read one ${kind}.` : `List ${kind}.`,
        operationId: `${action}MetricsV1beta1${path.includes("{namespace}") ? "Namespaced" : ""}${kind}`,
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": { group: groupOf(domain), kind, version },
      },
    });
    return [
      ...places.map((place) => operation(`${base}${place}/${plural}`, "list", `${kind}List`)),
      operation(`${object}/{name}`, "get", kind),
    ];
  });
}

function openApiV2(domain: Domain): object {
  const reference = (name: string) => ({ $ref: `#/definitions/${name}` });
  const paths = operationsOf(domain).map(({ path, parameters, schema, details }) => {
    const get = {
      ...details,
      produces: ["application/json"],
      responses: { 200: { description: "OK", schema: reference(schema) } },
    };
    const place = (name: string) => ({ name, in: "path", required: true, type: "string" });
    return [path, { get, parameters: parameters.map(place) }];
  });
  return {
    swagger: "2.0",
    info: { title: "metrics-server", version },
    paths: Object.fromEntries(paths) as object,
    definitions: schemasOf(domain, reference),
  };
}

function openApiV3(domain: Domain): object {
  const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });
  const paths = operationsOf(domain).map(({ path, parameters, schema, details }) => {
    const content = { "application/json": { schema: reference(schema) } };
    const get = { ...details, responses: { 200: { description: "OK", content } } };
    const place = (name: string) => ({
      name,
      in: "path",
      required: true,
      schema: { type: "string" },
    });
    return [path, { get, parameters: parameters.map(place) }];
  });
  return {
    openapi: "3.0.0",
    info: { title: "metrics-server", version },
    paths: Object.fromEntries(paths) as object,
    components: { schemas: schemasOf(domain, reference) },
  };
}
