/** Loads of the write verbs, each on objects that it prepares. */
import { type Answer, configMap, type Connection } from "./client.ts";
import { customResourceDefinition } from "../../../pkg/crd/testing.ts";

export interface Call {
  readonly method: "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly contentType?: string;
  readonly body?: object | Buffer;
}

/** Write requests of one verb and kind. */
export interface WriteLoad {
  /** The call that prepares object `name` for the measured call; absent = none. */
  readonly prepare?: (name: string) => Call;
  /** The measured call number `n` on object `name`. */
  readonly call: (name: string, n: number) => Call;
  /** Whether every call has its own object; otherwise every worker has one. */
  readonly isObjectPerCall?: boolean;
  /** Number of objects that one call writes, by which its cost is divided. */
  readonly objectsPerCall?: number;
}

const namespace = "write-loads";
const core = `/api/v1/namespaces/${namespace}`;
const configMaps = `${core}/configmaps`;
const pods = `${core}/pods`;
const deployments = `/apis/apps/v1/namespaces/${namespace}/deployments`;
const widgets = `/apis/bench.example.com/v1/namespaces/${namespace}/widgets`;

const labels = { app: "web", tier: "front", "app.kubernetes.io/name": "web" };

function podSpec(): object {
  const probe = { httpGet: { path: "/healthz", port: 8080 }, periodSeconds: 10 };
  const container = (name: string) => ({
    name,
    image: `registry.example.com/team/${name}:v1.2.3`,
    command: ["/bin/run", "--verbose"],
    env: [
      { name: "MODE", value: "production" },
      { name: "POD_IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
      { name: "SECRET", valueFrom: { secretKeyRef: { name: "secret", key: "token" } } },
    ],
    ports: [{ name: `http-${name}`, containerPort: 8080, protocol: "TCP" }],
    resources: { requests: { cpu: "100m", memory: "64Mi" }, limits: { memory: "128Mi" } },
    volumeMounts: [
      { name: "data", mountPath: "/data" },
      { name: "config", mountPath: "/etc/config", readOnly: true },
    ],
    livenessProbe: probe,
    readinessProbe: probe,
  });
  const volumes = [
    { name: "data", emptyDir: {} },
    { name: "config", configMap: { name: "config" } },
  ];
  return { containers: [container("main"), container("sidecar")], volumes };
}

function pod(name: string): object {
  return { apiVersion: "v1", kind: "Pod", metadata: { name, labels }, spec: podSpec() };
}

function deployment(name: string, replicas = 3): object {
  const selector = { matchLabels: { app: "web" } };
  const template = { metadata: { labels }, spec: podSpec() };
  const spec = { replicas, selector, template };
  return { apiVersion: "apps/v1", kind: "Deployment", metadata: { name, labels }, spec };
}

const text = { type: "string" };
const definition = customResourceDefinition(
  { plural: "widgets", kind: "Widget" },
  {
    group: "bench.example.com",
    schema: {
      type: "object",
      properties: {
        spec: {
          type: "object",
          required: ["size"],
          properties: {
            size: { type: "integer", minimum: 1 },
            color: { ...text, default: "red" },
            payload: text,
            parts: {
              type: "array",
              maxItems: 100,
              "x-kubernetes-list-type": "map",
              "x-kubernetes-list-map-keys": ["name"],
              items: {
                type: "object",
                required: ["name"],
                properties: { name: text, value: text },
              },
            },
          },
        },
      },
    },
  },
);

function widget(name: string): object {
  const parts = Array.from({ length: 5 }, (_each, n) => ({ name: `part-${n}`, value: "value" }));
  const spec = { size: 3, payload: "x".repeat(500), parts };
  return { apiVersion: "bench.example.com/v1", kind: "Widget", metadata: { name, labels }, spec };
}

const post = (path: string, body: object | Buffer): Call => ({ method: "POST", path, body });
const patch = (path: string, type: string, body: object): Call => ({
  method: "PATCH",
  path,
  contentType: `application/${type}`,
  body,
});
const apply = (path: string, body: object): Call =>
  patch(`${path}?fieldManager=bench&force=true`, "apply-patch+yaml", body);

const createConfigMap = (name: string): Call => post(configMaps, configMap({ name }));
const createPod = (name: string): Call => post(pods, pod(name));
const createDeployment = (name: string): Call => post(deployments, deployment(name));
const applyDeployment = (name: string): Call => apply(`${deployments}/${name}`, deployment(name));

const condition = (n: number) => ({
  status: {
    phase: "Running",
    podIP: "10.0.0.1",
    conditions: [
      { type: "Ready", status: n % 2 === 0 ? "True" : "False", reason: `r${n}` },
      { type: "PodScheduled", status: "True" },
    ],
  },
});

const collectionSize = 1000;

export const writeLoads: Readonly<Record<string, WriteLoad>> = {
  "create ConfigMap": { call: createConfigMap, isObjectPerCall: true },
  "create Pod": { call: createPod, isObjectPerCall: true },
  "create Deployment": { call: createDeployment, isObjectPerCall: true },
  "create custom resource": {
    call: (name) => post(widgets, widget(name)),
    isObjectPerCall: true,
  },
  "update ConfigMap": {
    prepare: createConfigMap,
    call: (name, n) => ({
      method: "PUT",
      path: `${configMaps}/${name}`,
      body: configMap({ name }, `${n}-`.padEnd(1000, "x")),
    }),
  },
  "update Deployment": {
    prepare: createDeployment,
    call: (name, n) => ({
      method: "PUT",
      path: `${deployments}/${name}`,
      body: deployment(name, 1 + (n % 1000)),
    }),
  },
  "JSON patch": {
    prepare: createDeployment,
    call: (name, n) =>
      patch(`${deployments}/${name}`, "json-patch+json", [
        { op: "replace", path: "/spec/replicas", value: 1 + (n % 1000) },
      ]),
  },
  "merge patch of a label": {
    prepare: createPod,
    call: (name, n) =>
      patch(`${pods}/${name}`, "merge-patch+json", { metadata: { labels: { n: `n${n}` } } }),
  },
  "strategic merge patch": {
    prepare: createDeployment,
    call: (name, n) =>
      patch(`${deployments}/${name}`, "strategic-merge-patch+json", {
        spec: { template: { spec: { containers: [{ name: "main", image: `image:${n}` }] } } },
      }),
  },
  "apply, new": { call: applyDeployment, isObjectPerCall: true },
  "apply, a change": {
    prepare: applyDeployment,
    call: (name, n) => apply(`${deployments}/${name}`, deployment(name, 1 + (n % 1000))),
  },
  "apply, nothing changes": { prepare: applyDeployment, call: applyDeployment },
  "pod status": {
    prepare: createPod,
    call: (name, n) => patch(`${pods}/${name}/status`, "strategic-merge-patch+json", condition(n)),
  },
  delete: {
    prepare: createConfigMap,
    call: (name) => ({ method: "DELETE", path: `${configMaps}/${name}` }),
    isObjectPerCall: true,
  },
  "delete collection": {
    prepare: createConfigMap,
    call: () => ({ method: "DELETE", path: configMaps }),
    objectsPerCall: collectionSize,
  },
};

export async function send(connection: Connection, call: Call): Promise<Answer> {
  const { method, path, body, contentType } = call;
  const bytes = Buffer.isBuffer(body) || body === undefined ? body : toBytes(body);
  const answer = await connection.call(method, path, {
    ...(bytes && { body: bytes }),
    ...(contentType === undefined ? {} : { contentType }),
  });
  if (answer.status === 0 || answer.status >= 400) {
    throw new Error(`${method} ${path}: ${answer.status} ${answer.body.toString()}`);
  }
  return answer;
}

const toBytes = (body: object): Buffer => Buffer.from(JSON.stringify(body));

/** Creates the namespace and the CustomResourceDefinition of the loads. */
export async function prepareWriteLoads(connection: Connection): Promise<void> {
  const made = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } };
  await send(connection, post("/api/v1/namespaces", made));
  // No controller runs that would create it.
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } };
  await send(connection, post(`${core}/serviceaccounts`, account));
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  await send(connection, post(definitions, definition));
  while ((await connection.call("GET", widgets)).status !== 200) {
    await new Promise(setImmediate);
  }
}

/** Lists each collection of the loads, to initialize the server's watch cache of it. */
export async function fillCaches(connection: Connection): Promise<void> {
  for (const collection of [configMaps, pods, deployments, widgets]) {
    await connection.call("GET", `${collection}?limit=1`);
  }
}
