/** `kubectl top` on metrics-server, which runs behind the API server. */
import assert from "node:assert/strict";
import https from "node:https";
import { runAggregatedServer } from "../../examples/aggregated-server.ts";
import { type RunningServer, startServer, type StartOptions } from "../../cmd/keelson/index.ts";
import { until } from "../integration/aggregation/aggregated-keelson.ts";
import { Kubectl } from "./kubectl.ts";

/** Pods need no ServiceAccount, so that no controllers are needed. */
const options: StartOptions = {
  port: 0,
  controllers: false,
  admissionPlugins: { disable: ["ServiceAccount"], enable: [], only: [] },
  report: () => undefined,
};
const metrics = "/apis/metrics.k8s.io/v1beta1";

function node(name: string): object {
  const allocatable = { cpu: "4", memory: "8Gi" };
  return {
    kind: "Node",
    apiVersion: "v1",
    metadata: { name },
    status: { allocatable, capacity: allocatable },
  };
}

function pod(name: string, requests: object, metadata: object = {}): object {
  return {
    kind: "Pod",
    apiVersion: "v1",
    metadata: { name, labels: { app: name }, ...metadata },
    spec: {
      nodeName: "node-1",
      containers: [{ name: "main", image: "app", resources: { requests } }],
    },
  };
}

async function send(server: RunningServer, method: string, path: string, body?: object) {
  const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  const content = body === undefined ? {} : { body: JSON.stringify(body) };
  const headers = { "content-type": type };
  const response = await server.fetch(path, { method, headers, ...content });
  const text = await response.text();
  assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`);
  return JSON.parse(text) as any;
}

async function populate(server: RunningServer): Promise<void> {
  await send(server, "POST", "/api/v1/nodes", node("node-1"));
  const usage = { "kwok.x-k8s.io/usage-cpu": "700m", "kwok.x-k8s.io/usage-memory": "96Mi" };
  const pods = "/api/v1/namespaces/default/pods";
  for (const each of [
    pod("busy", { cpu: "250m", memory: "64Mi" }),
    pod("told", { cpu: "1m", memory: "1Mi" }, { annotations: usage }),
    pod("waiting", { cpu: "3", memory: "4Gi" }),
  ]) {
    await send(server, "POST", pods, each);
  }
  for (const name of ["busy", "told"]) {
    const status = { phase: "Running" };
    await send(server, "PATCH", `${pods}/${name}/status`, { status });
  }
}

const isServed = async (server: RunningServer) => {
  const response = await server.fetch(`${metrics}/nodes`);
  await response.arrayBuffer();
  return response.status === 200;
};

/** Columns of the rows. */
function table(text: string): string[][] {
  const lines = text.trim().split("\n");
  return lines.map((line) => line.trim().split(/ {2,}/));
}

describe("kubectl top", () => {
  let server: RunningServer;
  before(async () => {
    server = await startServer({ ...options, metricsServer: true });
    await populate(server);
    await until(() => isServed(server));
  });
  after(() => server.close({ graceMs: 0 }));

  it("shows nodes and pods of a server that was started with one flag", async function () {
    if (!Kubectl.isThere) this.skip();
    using kubectl = new Kubectl(server.kubeconfig);
    const pods = table(await kubectl.ok("top pods --no-headers"));
    assert.deepEqual(
      pods,
      [
        ["told", "700m", "96Mi"],
        ["busy", "250m", "64Mi"],
      ].sort(),
    );
    const nodes = table(await kubectl.ok("top nodes --no-headers"));
    assert.deepEqual(nodes, [["node-1", "1050m", "26%", "416Mi", "5%"]]);
    assert.deepEqual(table(await kubectl.ok("top pods -l app=told --no-headers")).length, 1);
    const containers = table(await kubectl.ok("top pods busy --containers --no-headers"));
    assert.deepEqual(containers, [["busy", "main", "250m", "64Mi"]]);
    assert.match(await kubectl.ok("get podmetrics --no-headers"), /busy +250m +64Mi +15s/);
    assert.match(await kubectl.ok("get --raw /apis/metrics.k8s.io/v1beta1"), /PodMetrics/);
  });

  it("has samples by name, label and field, and Status objects for what is missing", async () => {
    const pods = `${metrics}/namespaces/default/pods`;
    const busy = await send(server, "GET", `${pods}/busy`);
    assert.deepEqual([busy.kind, busy.apiVersion], ["PodMetrics", "metrics.k8s.io/v1beta1"]);
    assert.deepEqual(busy.containers, [{ name: "main", usage: { cpu: "250m", memory: "64Mi" } }]);
    assert.equal(Date.parse(busy.timestamp) % 15_000, 0);
    const names = async (query: string) =>
      (await send(server, "GET", `${pods}?${query}`)).items.map(
        ({ metadata }: any) => metadata.name,
      );
    assert.deepEqual(await names(""), ["busy", "told"]);
    assert.deepEqual(await names("labelSelector=app%20in%20(told,waiting)"), ["told"]);
    assert.deepEqual(await names("fieldSelector=metadata.name%3Dbusy"), ["busy"]);
    for (const [path, code] of [
      [`${pods}/waiting`, 404],
      [`${metrics}/namespaces/default/nodes`, 404],
      [`${pods}?labelSelector=%3D%3D`, 400],
    ] as const) {
      const response = await server.fetch(path);
      assert.deepEqual(
        [response.status, ((await response.json()) as any).code],
        [code, code],
        path,
      );
    }
  });

  it("refuses clients that do not come through the API server", async () => {
    const name = "/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.metrics.k8s.io";
    const { spec } = await send(server, "GET", name);
    const status = await new Promise((resolve, reject) => {
      const request = https.get(
        `https://localhost:${spec.service.port}${metrics}/nodes`,
        {
          ca: Buffer.from(spec.caBundle, "base64"),
          servername: "metrics-server.kube-system.svc",
          headers: { "x-remote-user": "admin", "x-remote-group": "system:masters" },
          agent: false,
        },
        (response) => {
          response.resume();
          resolve(response.statusCode);
        },
      );
      request.on("error", reject);
    });
    assert.equal(status, 401);
  });
});

describe("examples/aggregated-server.ts", () => {
  it("serves metrics as a program of its own", async () => {
    const server = await startServer(options);
    const ended = new AbortController();
    const running = runAggregatedServer(server.kubeconfig, ended.signal);
    try {
      await populate(server);
      await until(() => isServed(server));
      const { items } = await send(server, "GET", `${metrics}/nodes`);
      assert.equal(items[0].usage.cpu, "1050m");
    } finally {
      ended.abort();
      await running;
      await server.close({ graceMs: 0 });
    }
  });
});
