/** Replica counts, conditions and Events of HorizontalPodAutoscalers. */
import assert from "node:assert/strict";
import { genericFailure } from "#meta";
import { type TestRegistry, testRegistry } from "../../registry/testing.ts";
import { type ControllerTest, startController } from "../testing.ts";
import {
  defaultAutoscalerOptions,
  runHorizontalPodAutoscaler,
} from "./horizontal-pod-autoscaler-controller.ts";

const autoscalers = "autoscaling/v2/horizontalpodautoscalers/ns";
const deployments = "apps/v1/deployments/ns";
const pods = "v1/pods/ns";
const labels = { app: "web" };
const cpu = (target: object) => ({ type: "Resource", resource: { name: "cpu", target } });
const half = cpu({ type: "Utilization", averageUtilization: 50 });

describe("horizontal-pod-autoscaler-controller", () => {
  let test: TestRegistry;
  let run: ControllerTest;
  /** Responses of the metrics APIs by path without query; absent paths respond with 404. */
  let metrics: Map<string, unknown>;
  let asked: string[];

  beforeEach(async () => {
    test = await testRegistry();
    metrics = new Map();
    asked = [];
    const getRaw = (path: string): Promise<unknown> => {
      asked.push(path);
      const answer = metrics.get(path.split("?")[0]!);
      return answer === undefined ? Promise.reject(genericFailure(404)) : Promise.resolve(answer);
    };
    const start = runHorizontalPodAutoscaler;
    run = await startController((context) => start(context, defaultAutoscalerOptions), {
      test,
      clock: test.clock,
      getRaw,
    });
  });
  afterEach(() => run.stop());

  const timeOf = (ms: number) => new Date(ms).toISOString().replace(/\.\d+/, "");

  /** A Deployment whose pods request one CPU each, have been ready for an hour, and use `usage`. */
  async function makeDeployment(replicas: number, usage: readonly string[]): Promise<void> {
    const containers = [{ name: "c", image: "i", resources: { requests: { cpu: "1" } } }];
    const template = { metadata: { labels }, spec: { containers } };
    const spec = { replicas, selector: { matchLabels: labels }, template };
    await test.post(deployments, { metadata: { name: "web" }, spec });
    await test.patch(`${deployments}/web/status`, { status: { replicas } });
    const startTime = timeOf(test.clock.now() - 3_600_000);
    const conditions = [{ type: "Ready", status: "True", lastTransitionTime: startTime }];
    for (let index = 0; index < replicas; index++) {
      const name = `web-${index}`;
      await test.post(pods, { metadata: { name, labels }, spec: template.spec });
      const status = { phase: "Running", startTime, conditions };
      await test.patch(`${pods}/${name}/status`, { status });
    }
    use(usage);
  }

  function use(usage: readonly string[]): void {
    const items = usage.map((amount, index) => ({
      metadata: { name: `web-${index}` },
      timestamp: timeOf(test.clock.now()),
      window: "30s",
      containers: [{ name: "c", usage: { cpu: amount } }],
    }));
    metrics.set("/apis/metrics.k8s.io/v1beta1/namespaces/ns/pods", { items });
  }

  const makeAutoscaler = (spec: object) =>
    test.post(autoscalers, {
      metadata: { name: "web" },
      spec: {
        scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
        minReplicas: 1,
        maxReplicas: 10,
        metrics: [half],
        ...spec,
      },
    });

  const replicas = async () => (await test.get(`${deployments}/web`)).object.spec.replicas;

  /** Waits for another sync of the controller, and returns the status that it wrote. */
  async function look(done: (status: any) => boolean): Promise<any> {
    return run.until(async () => {
      test.clock.advance(1_000);
      const { status } = (await test.get(`${autoscalers}/web`)).object;
      return status !== undefined && done(status) ? status : undefined;
    });
  }

  const condition = (status: any, type: string) =>
    status.conditions?.find((each: any) => each.type === type) ?? {};

  const reason = (type: string, expected: string) => (status: any) =>
    condition(status, type).reason === expected;

  async function events(): Promise<readonly string[]> {
    const { chunks } = await test.list("v1/events/ns");
    const found: string[] = [];
    for await (const chunk of chunks) {
      for (const { object } of chunk) found.push(`${object.reason}: ${object.message}`);
    }
    return found.sort();
  }

  it("scales up by utilization, at most by doubling", async () => {
    await makeDeployment(2, ["2", "2"]);
    await makeAutoscaler({});
    const status = await look((each) => each.desiredReplicas === 4);
    assert.equal(await replicas(), 4);
    assert.equal(condition(status, "ScalingLimited").reason, "ScaleUpLimit");
    assert.equal(condition(status, "AbleToScale").reason, "SucceededRescale");
    assert.deepEqual(status.currentMetrics, [
      {
        type: "Resource",
        resource: { name: "cpu", current: { averageUtilization: 200, averageValue: "2" } },
      },
    ]);
    assert.equal(status.currentReplicas, 2);
    assert.ok(status.lastScaleTime);
    const name = "cpu resource utilization (percentage of request)";
    await run.until(async () =>
      (await events()).includes(`SuccessfulRescale: New size: 4; reason: ${name} above target`),
    );
  });

  it("keeps the replica count within the tolerance", async () => {
    await makeDeployment(2, ["540m", "540m"]);
    await makeAutoscaler({});
    const status = await look(reason("ScalingActive", "ValidMetricFound"));
    assert.equal(status.desiredReplicas, 2);
    assert.equal(condition(status, "ScalingLimited").reason, "DesiredWithinRange");
    assert.equal(status.lastScaleTime, undefined);
  });

  it("scales down only after the stabilization window", async () => {
    await makeDeployment(4, ["100m", "100m", "100m", "100m"]);
    await makeAutoscaler({});
    const held = await look(reason("AbleToScale", "ScaleDownStabilized"));
    assert.equal(held.desiredReplicas, 4);
    const began = test.clock.now();
    const status = await look((each) => each.desiredReplicas === 1);
    assert.ok(test.clock.now() - began > 250_000);
    assert.equal(status.currentReplicas, 4);
  });

  it("applies the scaling policies of behavior, and their periods", async () => {
    await makeDeployment(2, ["4", "4"]);
    const policies = [{ type: "Pods", value: 1, periodSeconds: 60 }];
    const scaleUp = { stabilizationWindowSeconds: 0, policies };
    await makeAutoscaler({ behavior: { scaleUp } });
    await look((each) => each.desiredReplicas === 3);
    const began = test.clock.now();
    await look((each) => each.desiredReplicas === 4);
    assert.ok(test.clock.now() - began >= 45_000, "one pod per minute");
  });

  it("treats a pod without a sample as idle on scale-up, as fully used on scale-down", async () => {
    await makeDeployment(2, ["1"]);
    await makeAutoscaler({ behavior: { scaleDown: { stabilizationWindowSeconds: 0 } } });
    // (100 % + 0 %) / 2 is the target.
    const status = await look(reason("ScalingActive", "ValidMetricFound"));
    assert.equal(status.desiredReplicas, 2);
    assert.equal(status.currentMetrics[0].resource.current.averageUtilization, 100);
  });

  it("reports a missing resource request", async () => {
    await makeDeployment(1, ["1"]);
    const containers = [{ name: "c", image: "i" }];
    await test.post(pods, { metadata: { name: "bare", labels }, spec: { containers } });
    await makeAutoscaler({});
    const status = await look(reason("ScalingActive", "FailedGetResourceMetric"));
    assert.equal(
      condition(status, "ScalingActive").message,
      "the HPA was unable to compute the replica count: failed to get cpu utilization: " +
        "missing request for cpu in container c of Pod bare",
    );
  });

  it("clamps to the bounds without a metrics server, and reports the error", async () => {
    await makeDeployment(2, []);
    metrics.clear();
    await makeAutoscaler({ minReplicas: 3 });
    await look((each) => each.desiredReplicas === 3);
    assert.equal(await replicas(), 3);
    const status = await look(reason("ScalingActive", "FailedGetResourceMetric"));
    assert.equal(
      condition(status, "ScalingActive").message,
      "the HPA was unable to compute the replica count: failed to get cpu utilization: unable to " +
        "get metrics for resource cpu: unable to fetch metrics from resource metrics API: the " +
        "server could not find the requested resource (get pods.metrics.k8s.io)",
    );
    assert.deepEqual(status.currentMetrics, [{ type: "" }]);
  });

  it("does not scale a target with zero replicas", async () => {
    await makeDeployment(0, []);
    await makeAutoscaler({});
    await look(reason("ScalingActive", "ScalingDisabled"));
    assert.equal(await replicas(), 0);
  });

  it("reports a missing target", async () => {
    await makeAutoscaler({});
    const status = await look(reason("AbleToScale", "FailedGetScale"));
    assert.match(condition(status, "AbleToScale").message, /deployments\.apps "web" not found$/);
  });

  it("rejects pods that another autoscaler scales", async () => {
    await makeDeployment(2, ["2", "2"]);
    await makeAutoscaler({ minReplicas: 2, maxReplicas: 2 });
    const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };
    const spec = { scaleTargetRef, minReplicas: 2, maxReplicas: 2, metrics: [half] };
    await test.post(autoscalers, { metadata: { name: "other" }, spec });
    const status = await look(reason("ScalingActive", "AmbiguousSelector"));
    assert.match(condition(status, "ScalingActive").message, /^pods by selector app=web are /);
  });

  const average = (averageValue: string) => ({ type: "AverageValue", averageValue });
  const describedObject = { apiVersion: "v1", kind: "ConfigMap", name: "queue" };
  const ofPods = { type: "Pods", pods: { metric: { name: "requests" }, target: average("10") } };
  const ofObject = (described: object) => ({
    type: "Object",
    object: {
      metric: { name: "length" },
      describedObject: described,
      target: { type: "Value", value: "9" },
    },
  });
  const ofExternal = {
    type: "External",
    external: { metric: { name: "backlog" }, target: average("1") },
  };
  const notFound = "the server could not find the requested resource";
  const noCustom = "custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered";
  const absentApis = [
    { name: "Pods", metric: ofPods, expected: noCustom },
    { name: "Object", metric: ofObject(describedObject), expected: noCustom },
    {
      name: "Object",
      metric: ofObject({ apiVersion: "x.example.com/v1", kind: "None", name: "n" }),
      expected: noCustom,
    },
    {
      name: "External",
      metric: ofExternal,
      expected: `external metrics API: ${notFound} (get backlog.external.metrics.k8s.io)`,
    },
    {
      name: "Pods",
      groups: [{ name: "custom.metrics.k8s.io", versions: [{ version: "v2" }] }],
      metric: ofPods,
      expected: "custom metrics API: no known available metric versions found",
    },
  ];
  for (const { name, metric, expected, groups = [{ name: "apps", versions: [] }] } of absentApis) {
    it(`reports ${name} metrics without ${expected}`, async () => {
      await makeDeployment(2, []);
      metrics.set("/apis", { groups });
      await makeAutoscaler({ metrics: [metric] });
      const status = await look(reason("ScalingActive", `FailedGet${name}Metric`));
      assert.ok(condition(status, "ScalingActive").message.endsWith(expected));
      const recorded = await run.until(async () =>
        (await events()).find((each) => each.startsWith(`FailedGet${name}Metric: `)),
      );
      assert.ok(recorded.endsWith(expected), recorded);
    });
  }

  it("scales by pods, object and external metrics", async () => {
    await makeDeployment(2, []);
    const versions = [{ version: "v1beta2" }];
    metrics.set("/apis", { groups: [{ name: "custom.metrics.k8s.io", versions }] });
    const custom = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/ns";
    const item = (name: string, value: string) => ({ describedObject: { name }, value });
    metrics.set(`${custom}/pods/*/requests`, { items: [item("web-0", "10"), item("web-1", "10")] });
    metrics.set(`${custom}/configmaps/queue/length`, { items: [item("queue", "9")] });
    const external = "/apis/external.metrics.k8s.io/v1beta1/namespaces/ns/backlog";
    metrics.set(external, { items: [{ value: "1500m" }, { value: "1500m" }] });
    const metric = { name: "backlog", selector: { matchLabels: { of: "web" } } };
    await makeAutoscaler({
      metrics: [
        ofPods,
        ofObject(describedObject),
        { type: "External", external: { metric, target: average("1") } },
      ],
    });
    const status = await look((each) => each.desiredReplicas === 3);
    assert.deepEqual(
      status.currentMetrics.map((each: any) => (each.pods ?? each.object ?? each.external).current),
      [{ averageValue: "10" }, { value: "9" }, { averageValue: "1500m" }],
    );
    assert.ok(asked.includes(`${external}?labelSelector=of%3Dweb`));
  });

  it("retries after a failed write", async () => {
    await makeDeployment(2, ["1", "1"]);
    run.failNext("update", "deployments", 1);
    await makeAutoscaler({});
    const status = await look(reason("AbleToScale", "FailedUpdateScale"));
    assert.match(
      condition(status, "AbleToScale").message,
      /unable to update the target scale: .*injected/,
    );
    await look((each) => each.desiredReplicas === 4);
    assert.match(run.reports.join(), /failed to rescale Deployment\/ns\/web/);
  });
});
