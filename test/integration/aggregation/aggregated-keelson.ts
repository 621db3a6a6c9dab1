/** A Keelson that serves `widgets.example.com` behind another Keelson. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
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

const userHeaders = {
  username: ["X-Remote-User"],
  uid: ["X-Remote-Uid"],
  group: ["X-Remote-Group"],
  extraPrefix: ["X-Remote-Extra-"],
};

export class AggregatedKeelson {
  private constructor(
    readonly front: RunningServer,
    readonly backend: RunningServer,
    private readonly folder: string,
  ) {}

  /** Starts both servers; the backend trusts the front-proxy CA of the aggregating one. */
  static async start(options: StartOptions = {}): Promise<AggregatedKeelson> {
    const folder = mkdtempSync(path.join(tmpdir(), "keelson-aggregation-"));
    const common = { port: 0, report: () => undefined };
    const front = await startServer({ ...common, certificateDirectory: folder, ...options });
    const ca = { file: path.join(folder, "front-proxy-ca.crt") };
    const frontProxy = { ca, allowedNames: [], headers: userHeaders };
    const backend = await startServer({ ...common, controllers: false, frontProxy });
    const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    await sendTo(backend, "POST", definitions, { body: definition });
    await until(async () => (await statusOf(backend, "/apis/example.com/v1/widgets")) === 200);
    return new AggregatedKeelson(front, backend, folder);
  }

  /** Registers the backend, and waits until the aggregating server discovers its resources. */
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
      await sendTo(server, "POST", "/api/v1/namespaces", { body: namespace });
    }
  }

  /** The version of the backend in aggregated discovery; undefined if absent. */
  async discovered(): Promise<any> {
    const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    const { items } = await this.send("GET", "/apis", undefined, { accept });
    const group = items.find(({ metadata }: any) => metadata.name === "example.com");
    return group?.versions[0];
  }

  /** GETs JSON from the aggregating server. */
  send(
    method: string,
    address: string,
    body?: object,
    headers: Record<string, string> = {},
  ): Promise<any> {
    const content = body === undefined ? {} : { body };
    return sendTo(this.front, method, address, { ...content, headers });
  }

  async status(path: string): Promise<number> {
    return statusOf(this.front, path);
  }

  async close(): Promise<void> {
    await Promise.all([this.front.close({ graceMs: 0 }), this.backend.close({ graceMs: 0 })]);
    rmSync(this.folder, { recursive: true, force: true });
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
  address: string,
  {
    body,
    headers = {},
  }: { readonly body?: object; readonly headers?: Record<string, string> } = {},
): Promise<any> {
  const content = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await server.fetch(address, {
    method,
    headers: { "content-type": "application/json", ...headers },
    ...content,
  });
  const text = await response.text();
  assert.ok(response.ok, `${method} ${address}: ${response.status} ${text}`);
  return JSON.parse(text);
}

export async function until(what: () => Promise<unknown>): Promise<void> {
  for (let tries = 0; !(await what()); tries++) {
    assert.ok(tries < 1000, "the expected state was never reached");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
