/** Simulated usage: what kubelets and metrics-server tell of it, and an autoscaler that follows it. */
import assert from "node:assert/strict";
import { type RunningServer, startServer, VirtualClock } from "../../cmd/keelson/index.ts";
import { until } from "../integration/aggregation/aggregated-keelson.ts";

const namespace = "/namespaces/default";
const deployments = `/apis/apps/v1${namespace}/deployments`;
const autoscalers = `/apis/autoscaling/v2${namespace}/horizontalpodautoscalers`;
const memory = "simulated.keelson.dev/usage-memory";

describe("simulated usage", () => {
  let server: RunningServer;
  before(async () => {
    server = await startServer({
      port: 0,
      nodes: { count: 1 },
      scheduler: true,
      controllers: true,
      controllerManager: { settings: { autoscalerSyncMs: 300 } },
      metricsServer: true,
      report: () => undefined,
    });
  });
  after(() => server.close({ graceMs: 0 }));

  const text = async (path: string): Promise<string> => {
    const response = await server.fetch(path);
    const body = await response.text();
    assert.equal(response.status, 200, `${path}: ${body}`);
    return body;
  };
  const get = async (path: string) => JSON.parse(await text(path)) as any;
  const send = async (method: string, path: string, body: object) => {
    const patch = "application/merge-patch+json";
    const headers = { "content-type": method === "PATCH" ? patch : "application/json" };
    const response = await server.fetch(path, { method, headers, body: JSON.stringify(body) });
    assert.ok(response.ok, `${method} ${path}: ${await response.text()}`);
  };
  const readyReplicas = async () => (await get(`${deployments}/web`)).status?.readyReplicas ?? 0;

  it("lets an autoscaler scale a Deployment up and down", async () => {
    const labels = { app: "web" };
    const containers = [{ name: "app", image: "nginx", resources: { requests: { cpu: "100m" } } }];
    await send("POST", deployments, {
      metadata: { name: "web" },
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels, annotations: { [memory]: "200Mi" } },
          spec: { containers },
        },
      },
    });
    const target = { type: "AverageValue", averageValue: "100Mi" };
    await send("POST", autoscalers, {
      metadata: { name: "web" },
      spec: {
        scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
        maxReplicas: 3,
        metrics: [{ type: "Resource", resource: { name: "memory", target } }],
        behavior: { scaleDown: { stabilizationWindowSeconds: 0 } },
      },
    });
    await until(async () => (await readyReplicas()) === 3);
    const annotations = { [memory]: "0s:10Mi" };
    for (const { metadata } of (await get(`/api/v1${namespace}/pods`)).items) {
      const path = `/api/v1${namespace}/pods/${metadata.name}`;
      await send("PATCH", path, { metadata: { annotations } });
    }
    await until(async () => (await readyReplicas()) === 1);
    const { status } = await get(`${autoscalers}/web`);
    assert.equal(status.currentMetrics[0].resource.current.averageValue, "10Mi");
  });

  it("is told by the kubelet in its own forms", async () => {
    const node = "/api/v1/nodes/hollow-0/proxy";
    const summary = await get(`${node}/stats/summary`);
    assert.equal(summary.node.nodeName, "hollow-0");
    const [pod] = summary.pods;
    assert.deepEqual(
      pod.containers.map(({ name, cpu, memory: used }: any) => [
        name,
        cpu.usageNanoCores,
        used.workingSetBytes,
      ]),
      [["app", 100_000_000, 10 * 2 ** 20]],
    );
    assert.equal(summary.node.memory.workingSetBytes, 266 * 2 ** 20);
    const name = pod.podRef.name as string;
    const resource = await text(`${node}/metrics/resource`);
    const labels = `container="app",namespace="default",pod="${name}"`;
    assert.match(
      resource,
      new RegExp(`^container_memory_working_set_bytes{${labels}} 10485760 `, "m"),
    );
    assert.match(resource, /^# TYPE node_cpu_usage_seconds_total counter$/m);
    assert.match(await text(`${node}/metrics/cadvisor`), /^container_cpu_usage_seconds_total{/m);
    const [running] = (await get(`${node}/runningpods/`)).items;
    assert.equal(running.metadata.name, name);
    assert.equal((await get(`${node}/configz`)).kubeletconfig.maxPods, 110);
    assert.equal(await text(`${node}/healthz`), "ok");
  });
});

describe("simulated CPU usage in virtual time", () => {
  const minute = 60_000;
  const clock = new VirtualClock({ start: "2030-01-01T00:00:00Z" });
  let server: RunningServer;
  before(async () => {
    const common = { nodes: { count: 1 }, scheduler: true, metricsServer: true };
    server = await startServer({ ...common, clock, port: 0, report: () => undefined });
    // Connections, and so the availability of metrics.k8s.io, live in real time.
    await until(async () => {
      const response = await server.fetch("/apis/metrics.k8s.io/v1beta1/nodes");
      await response.text();
      return response.ok;
    });
  });
  after(() => server.close({ graceMs: 0 }));

  it("lets an autoscaler with its defaults follow a load over time", async () => {
    const call = async (path: string, body?: object) => {
      const headers = { "content-type": "application/json" };
      const init =
        body === undefined ? {} : { method: "POST", headers, body: JSON.stringify(body) };
      const response = await server.fetch(path, init);
      const answer = (await response.json()) as any;
      assert.ok(response.ok, JSON.stringify(answer));
      return answer;
    };
    const labels = { app: "load" };
    const usage = "0s:50m,5m:300m,20m:20m";
    await call(deployments, {
      metadata: { name: "load" },
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels, annotations: { "simulated.keelson.dev/usage-cpu": usage } },
          spec: {
            containers: [{ name: "app", image: "nginx", resources: { requests: { cpu: "100m" } } }],
          },
        },
      },
    });
    const target = { type: "Utilization", averageUtilization: 100 };
    await call(autoscalers, {
      metadata: { name: "load" },
      spec: {
        scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "load" },
        maxReplicas: 3,
        metrics: [{ type: "Resource", resource: { name: "cpu", target } }],
      },
    });
    const seen = async () => {
      const { spec } = await call(`${deployments}/load`);
      const { status } = await call(`${autoscalers}/load`);
      return [spec.replicas, status.currentMetrics?.[0].resource.current.averageUtilization];
    };
    await clock.advance(4 * minute);
    assert.deepEqual(await seen(), [1, 50]);
    await clock.advance(2 * minute);
    assert.equal((await seen())[0], 3);
    await clock.advance(6 * minute);
    assert.deepEqual(await seen(), [3, 300]);
    await clock.advance(20 * minute);
    assert.deepEqual(await seen(), [1, 20]);
  });
});
