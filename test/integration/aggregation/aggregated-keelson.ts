/** A Keelson that serves `widgets.example.com` behind another Keelson. */
import assert from "node:assert/strict";
import { type RunningServer, startServer, type StartOptions } from "../../../cmd/keelson/index.ts";

const definition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "widgets", kind: "Widget", shortNames: ["wd"] },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            description: "A widget of the other server.",
            properties: {
              spec: {
                type: "object",
                description: "What the widget is like.",
                properties: { size: { type: "integer", description: "Size in mm." } },
              },
            },
          },
        },
      },
    ],
  },
};

/** The backend trusts every client. */
const everyone = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRoleBinding",
  metadata: { name: "everyone" },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
  subjects: [
    { apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "system:unauthenticated" },
  ],
};
const backendOptions: StartOptions = { port: 0, controllers: false };

export class AggregatedKeelson {
  private constructor(
    readonly front: RunningServer,
    readonly backend: RunningServer,
  ) {}

  static async start(options: StartOptions = {}): Promise<AggregatedKeelson> {
    const quiet = { report: () => undefined };
    const [front, backend] = await Promise.all([
      startServer({ ...quiet, ...options }),
      startServer({ ...quiet, ...backendOptions }),
    ]);
    const pair = new AggregatedKeelson(front, backend);
    const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    await sendTo(backend, "POST", definitions, definition);
    const bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    await sendTo(backend, "POST", bindings, everyone);
    await until(async () => (await statusOf(backend, "/apis/example.com/v1/widgets")) === 200);
    return pair;
  }

  /** Registers the backend, and waits until the server in front discovers its resources. */
  async register(): Promise<void> {
    await this.send("POST", "/api/v1/namespaces/default/services", {
      kind: "Service",
      apiVersion: "v1",
      metadata: { name: "widgets" },
      spec: { type: "ExternalName", externalName: "localhost" },
    });
    await this.send("POST", "/apis/apiregistration.k8s.io/v1/apiservices", {
      kind: "APIService",
      apiVersion: "apiregistration.k8s.io/v1",
      metadata: { name: "v1.example.com" },
      spec: {
        group: "example.com",
        version: "v1",
        groupPriorityMinimum: 500,
        versionPriority: 100,
        insecureSkipTLSVerify: true,
        service: {
          namespace: "default",
          name: "widgets",
          port: Number(new URL(this.backend.url).port),
        },
      },
    });
    await until(async () => (await this.discovered())?.freshness === "Current");
  }

  /** Creates a namespace on both servers. */
  async createNamespace(name: string): Promise<void> {
    const namespace = { kind: "Namespace", apiVersion: "v1", metadata: { name } };
    for (const server of [this.front, this.backend]) {
      await sendTo(server, "POST", "/api/v1/namespaces", namespace);
    }
  }

  /** The version of the backend in aggregated discovery; undefined = there is none. */
  async discovered(): Promise<any> {
    const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    const { items } = await this.send("GET", "/apis", undefined, { accept });
    const group = items.find(({ metadata }: any) => metadata.name === "example.com");
    return group?.versions[0];
  }

  /** The JSON that the server in front answers. */
  send(
    method: string,
    path: string,
    body?: object,
    headers: Record<string, string> = {},
  ): Promise<any> {
    return sendTo(this.front, method, path, body, headers);
  }

  async status(path: string): Promise<number> {
    return statusOf(this.front, path);
  }

  async close(): Promise<void> {
    await Promise.all([this.front.close({ graceMs: 0 }), this.backend.close({ graceMs: 0 })]);
  }
}

async function statusOf(server: RunningServer, path: string): Promise<number> {
  const response = await server.fetch(path);
  await response.arrayBuffer();
  return response.status;
}

async function sendTo(
  server: RunningServer,
  method: string,
  path: string,
  body?: object,
  headers: Record<string, string> = {},
): Promise<any> {
  const content = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await server.fetch(path, {
    method,
    headers: { "content-type": "application/json", ...headers },
    ...content,
  });
  const text = await response.text();
  assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}

export async function until(what: () => Promise<unknown>): Promise<void> {
  for (let tries = 0; !(await what()); tries++) {
    assert.ok(tries < 1000, "the expected state was never reached");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
