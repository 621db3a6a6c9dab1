import assert from "node:assert/strict";
import { type TestRegistry, testRegistry } from "../../../registry/testing.ts";
import { pass } from "../../batch/job/testing.ts";
import type { ControllerContext } from "../../controller-context.ts";
import { listAt } from "../../pods/testing.ts";
import { type ControllerTest, crashAfterEveryWrite, startController } from "../../testing.ts";
import {
  labels,
  makeNode,
  makeService,
  runPod,
  setPod,
  shownEndpoints,
  slicesOf,
} from "../testing.ts";
import { runEndpointSliceController } from "./endpoint-slice-controller.ts";

const slices = "discovery.k8s.io/v1/endpointslices/ns";
const options = { serviceEndpointWorkers: 5, maxEndpointsPerSlice: 3, endpointSliceBatchMs: 0 };
const runSlices = (context: ControllerContext) => runEndpointSliceController(context, options);

let test: TestRegistry;
let run: ControllerTest;

/** Passes time until the endpoints are as wanted. */
async function comesTo(...wanted: readonly string[]): Promise<void> {
  let shown: string[] = [];
  for (let steps = 0; steps < 100; steps++) {
    shown = shownEndpoints(await slicesOf(test));
    if (shown.join() === wanted.join()) return;
    await pass(test, 200);
  }
  assert.deepEqual(shown, wanted, run.reports.join());
}

describe("endpointslice-controller", () => {
  beforeEach(async () => {
    test = await testRegistry();
    run = await startController(runSlices, { test, clock: test.clock });
    await makeNode(test, "n1", "z1");
  });
  afterEach(() => run.stop());

  it("keeps an empty slice for a Service without pods", async () => {
    const spec = { clusterIP: "10.96.0.10" };
    const service = await makeService(test, "web", spec, { labels: { team: "a" } });
    await run.until(async () => (await slicesOf(test)).length === 1);
    const [slice] = await slicesOf(test);
    assert.match(slice.metadata.name, /^web-.{5}$/);
    assert.deepEqual(slice.metadata.labels, {
      team: "a",
      "kubernetes.io/service-name": "web",
      "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
    });
    assert.equal(slice.metadata.ownerReferences[0].uid, service.metadata.uid);
    await test.patch("v1/services/ns/web", { metadata: { labels: { team: "b" } } });
    await run.until(async () => {
      await pass(test, 200);
      return (await slicesOf(test))[0].metadata.labels.team === "b";
    });
    assert.equal((await slicesOf(test)).length, 1);
  });

  it("shows readiness, serving and termination of pods", async () => {
    await makeService(test, "web");
    await runPod(test, "a", { ips: ["10.0.0.1"] });
    await runPod(test, "b", { ips: ["10.0.0.2"], ready: false });
    await runPod(test, "c", {});
    await comesTo("10.0.0.1 110", "10.0.0.2 000");
    const [{ endpoints, ports }] = await slicesOf(test);
    const [first] = endpoints.filter(({ addresses }: any) => addresses[0] === "10.0.0.1");
    assert.equal(first.nodeName, "n1");
    assert.equal(first.zone, "z1");
    assert.equal(first.targetRef.name, "a");
    assert.deepEqual(ports, [{ name: "", port: 80, protocol: "TCP" }]);
    await test.remove("v1/pods/ns/a", { gracePeriodSeconds: 30 });
    await comesTo("10.0.0.1 011", "10.0.0.2 000");
    await setPod(test, "b", { ready: true });
    await comesTo("10.0.0.1 011", "10.0.0.2 110");
    await test.patch("v1/pods/ns/b/status", { status: { phase: "Failed" } });
    await comesTo("10.0.0.1 011");
    await test.patch("v1/pods/ns/b", { metadata: { labels: { app: "other" } } });
    await test.patch("v1/pods/ns/a", { metadata: { labels: { app: "other" } } });
    await comesTo();
  });

  it("publishes addresses that are not ready if the Service asks for it", async () => {
    await makeService(test, "web", { clusterIP: "None", publishNotReadyAddresses: true });
    const more = { hostname: "h", subdomain: "web" };
    await runPod(test, "a", { ips: ["10.0.0.1"], ready: false, nodeName: "gone", spec: more });
    await comesTo("10.0.0.1 100");
    const [slice] = await slicesOf(test);
    assert.equal(slice.metadata.labels["service.kubernetes.io/headless"], "");
    assert.equal(slice.endpoints[0].hostname, "h");
  });

  it("skips pods until their node exists in the informer", async () => {
    await makeService(test, "web");
    await runPod(test, "a", { ips: ["10.0.0.1"], nodeName: "late" });
    await pass(test, 1_000);
    await comesTo();
    await makeNode(test, "late");
    await comesTo("10.0.0.1 110");
    const events = await listAt(test, "v1/events/ns");
    assert.equal(events[0].reason, "FailedToUpdateEndpointSlices");
    assert.match(events[0].message, /skipping Pod a for Service ns\/web: Node late Not Found/);
  });

  it("reports each skipped pod", async () => {
    await makeService(test, "web");
    await runPod(test, "a", { ips: ["10.0.0.1"], nodeName: "x" });
    await runPod(test, "b", { ips: ["10.0.0.2"], nodeName: "x" });
    await pass(test, 2_000);
    const messages = (await listAt(test, "v1/events/ns")).map(({ message }) => message);
    const skipped = (pod: string) => `skipping Pod ${pod} for Service ns/web: Node x Not Found`;
    const both = `[${skipped("a")}, ${skipped("b")}]`;
    assert.ok(
      messages.some((each) => each.endsWith(both)),
      messages.join(),
    );
  });

  it("has slices per IP family and set of ports", async () => {
    await run.stop();
    const cidrs = ["10.96.0.0/24", "fd00:1::/112"];
    const serviceNetwork = { cidrs, nodePorts: { first: 30_000, last: 30_010 } };
    test = await testRegistry({ serviceNetwork });
    run = await startController(runSlices, { test, clock: test.clock });
    await makeNode(test, "n1", "z1");
    const ports = [{ name: "http", port: 80, targetPort: "web" }];
    const families = { ipFamilyPolicy: "RequireDualStack", ipFamilies: ["IPv4", "IPv6"] };
    await makeService(test, "web", { clusterIP: "None", ports, ...families });
    const container = (containerPort: number) => [{ name: "web", containerPort }];
    await runPod(test, "a", { ips: ["10.0.0.1", "fd00::1"], ports: container(8080) });
    await runPod(test, "b", { ips: ["10.0.0.2"], ports: container(9090) });
    await runPod(test, "c", { ips: ["10.0.0.3"] });
    await comesTo("10.0.0.1 110", "10.0.0.2 110", "10.0.0.3 110", "fd00::1 110");
    const shown = (await slicesOf(test))
      .filter(({ endpoints }) => endpoints?.length > 0)
      .map((each) => `${each.addressType} ${each.ports?.[0]?.port} ${each.endpoints.length}`);
    assert.deepEqual(shown.sort(), [
      "IPv4 8080 1",
      "IPv4 9090 1",
      "IPv4 undefined 1",
      "IPv6 8080 1",
    ]);
  });

  it("sets the trigger time annotation of an update", async () => {
    await makeService(test, "web");
    await pass(test, 5_000);
    await runPod(test, "a", { ips: ["10.0.0.1"], ready: false });
    await comesTo("10.0.0.1 000");
    await pass(test, 5_000);
    const changed = new Date(test.clock.now()).toISOString().replace(/\.\d+/, "");
    await setPod(test, "a", { ready: true });
    await comesTo("10.0.0.1 110");
    const [{ metadata }] = await slicesOf(test);
    assert.equal(metadata.annotations["endpoints.kubernetes.io/last-change-trigger-time"], changed);
  });

  it("reverts changes of its slices by other clients", async () => {
    await makeService(test, "web");
    await runPod(test, "a", { ips: ["10.0.0.1"] });
    await comesTo("10.0.0.1 110");
    await pass(test, 2_000);
    const [{ metadata }] = await slicesOf(test);
    await test.patch(`${slices}/${metadata.name}`, { endpoints: [] });
    await comesTo();
    await comesTo("10.0.0.1 110");
    await pass(test, 2_000);
    await test.remove(`${slices}/${(await slicesOf(test))[0].metadata.name}`);
    await comesTo("10.0.0.1 110");
  });

  it("does not repack endpoints while its informer is stale", async () => {
    await makeService(test, "web");
    await pass(test, 1_000);
    run.holdInformer("endpointslices");
    for (const index of [1, 2, 3, 4, 5]) {
      await runPod(test, `p${index}`, { ips: [`10.0.0.${index}`] });
      await pass(test, 1_000);
    }
    run.releaseInformer("endpointslices");
    await comesTo(...[1, 2, 3, 4, 5].map((index) => `10.0.0.${index} 110`));
    assert.equal((await slicesOf(test)).length, 2);
  });

  it("writes nothing if nothing changes", async () => {
    await makeService(test, "web");
    await runPod(test, "a", { ips: ["10.0.0.1"] });
    await comesTo("10.0.0.1 110");
    await pass(test, 5_000);
    const count = () =>
      run.calls("update", "endpointslices") + run.calls("create", "endpointslices");
    const before = count();
    await test.patch("v1/pods/ns/a", { metadata: { annotations: { a: "b" } } });
    await test.patch("v1/services/ns/web", { metadata: { annotations: { a: "b" } } });
    await pass(test, 60_000);
    await pass(test, 600_000);
    assert.equal(count(), before);
  });
});

describe("endpointslice-controller: crashes", () => {
  it("reach the same state after a crash at any write", async function () {
    const crashes = await crashAfterEveryWrite({
      controllers: [runSlices],
      play: async ({ test: at, until }) => {
        await makeNode(at, "n1");
        await makeService(at, "web");
        const comesTo = (count: number) =>
          until(async () => shownEndpoints(await slicesOf(at)).length === count);
        for (const index of [1, 2, 3, 4]) {
          await runPod(at, `p${index}`, { ips: [`10.0.0.${index}`] });
        }
        await comesTo(4);
        await at.patch("v1/services/ns/web", { spec: { ports: [{ port: 81, name: "x" }] } });
        await until(async () => {
          const shown = await slicesOf(at);
          return shown.every(({ ports }) => ports?.every(({ port }: any) => port === 81));
        });
        for (const index of [1, 2, 3, 4]) {
          await at.patch(`v1/pods/ns/p${index}`, { metadata: { labels: { ...labels, app: "x" } } });
        }
        await comesTo(0);
      },
      endState: async (at) =>
        (await slicesOf(at)).map(({ endpoints, ports }) => ({ endpoints, ports })),
    });
    assert.ok(crashes >= 5, String(crashes));
  });
});
