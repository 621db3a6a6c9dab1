import assert from "node:assert/strict";
import { type TestRegistry, testRegistry } from "../../../registry/testing.ts";
import { pass } from "../../batch/job/testing.ts";
import type { ControllerContext } from "../../controller-context.ts";
import { listAt } from "../../pods/testing.ts";
import { type ControllerTest, crashAfterEveryWrite, startController } from "../../testing.ts";
import { makeService, shownEndpoints, slicesOf } from "../testing.ts";
import { runEndpointSliceMirroring } from "./endpoint-slice-mirroring-controller.ts";

const path = "v1/endpoints/ns";
const options = { mirroringWorkers: 5, mirroringMaxPerSubset: 3, mirroringBatchMs: 0 };
const runMirroring = (context: ControllerContext) => runEndpointSliceMirroring(context, options);

let test: TestRegistry;
let run: ControllerTest;

const subset = (port: number, ...ips: readonly string[]) => ({
  addresses: ips.map((ip) => ({ ip })),
  ports: [{ port, protocol: "TCP" }],
});

async function comesTo(...wanted: readonly string[]): Promise<void> {
  let shown: string[] = [];
  for (let steps = 0; steps < 60; steps++) {
    shown = shownEndpoints(await slicesOf(test));
    if (shown.join() === wanted.join()) return;
    await pass(test, 200);
  }
  assert.deepEqual(shown, wanted, run.reports.join());
}

describe("endpointslice-mirroring-controller", () => {
  beforeEach(async () => {
    test = await testRegistry();
    run = await startController(runMirroring, { test, clock: test.clock });
    await makeService(test, "own", { selector: undefined });
  });
  afterEach(() => run.stop());

  it("mirrors addresses, labels and annotations", async () => {
    const applied = "kubectl.kubernetes.io/last-applied-configuration";
    const metadata = { name: "own", labels: { a: "1" }, annotations: { b: "2", [applied]: "{}" } };
    const subsets = [{ ...subset(80, "10.0.0.1"), notReadyAddresses: [{ ip: "10.0.0.2" }] }];
    await test.post(path, { metadata, subsets });
    await comesTo("10.0.0.1 100", "10.0.0.2 000");
    const [slice] = await slicesOf(test);
    assert.deepEqual(slice.metadata.labels, {
      a: "1",
      "kubernetes.io/service-name": "own",
      "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io",
    });
    assert.deepEqual(slice.metadata.annotations, { b: "2" });
    assert.equal(slice.metadata.ownerReferences[0].kind, "Endpoints");
    await test.patch(`${path}/own`, { metadata: { labels: { a: "2" } } });
    await run.until(async () => (await slicesOf(test))[0].metadata.labels.a === "2");
    assert.equal((await slicesOf(test))[0].metadata.name, slice.metadata.name);
  });

  it("has one slice per subset and IP family, within the limit", async () => {
    const ips = ["10.0.0.1", "fd00::1", "10.0.0.2", "10.0.0.3"];
    const subsets = [subset(80, ...ips), subset(90, "10.0.0.9")];
    await test.post(path, { metadata: { name: "own" }, subsets });
    await comesTo("10.0.0.1 100", "10.0.0.2 100", "10.0.0.3 100", "10.0.0.9 100");
    assert.equal((await slicesOf(test)).length, 2);
    const [event] = await listAt(test, "v1/events/ns");
    assert.equal(event.reason, "TooManyAddressesToMirror");
    await test.patch(`${path}/own`, { subsets: [subset(80, "fd00::1", "10.0.0.1")] });
    await comesTo("10.0.0.1 100", "fd00::1 100");
    const types = (await slicesOf(test)).map(({ addressType }) => addressType).sort();
    assert.deepEqual(types, ["IPv4", "IPv6"]);
  });

  it("mirrors no leader election locks, and none with skip-mirror or a selector", async () => {
    const skip = { "endpointslice.kubernetes.io/skip-mirror": "true" };
    const subsets = [subset(80, "10.0.0.1")];
    await test.post(path, { metadata: { name: "own", labels: skip }, subsets });
    await makeService(test, "web");
    await test.post(path, { metadata: { name: "web" }, subsets });
    await test.post(path, { metadata: { name: "alone" }, subsets });
    await pass(test, 5_000);
    await comesTo();
    await test.patch(`${path}/own`, { metadata: { labels: { [Object.keys(skip)[0]!]: "no" } } });
    await comesTo("10.0.0.1 100");
    await test.patch("v1/services/ns/web", { spec: { selector: null } });
    await comesTo("10.0.0.1 100", "10.0.0.1 100");
    await test.patch("v1/services/ns/web", { spec: { selector: { app: "web" } } });
    await comesTo("10.0.0.1 100");
    await test.remove(`${path}/own`);
    await comesTo();
  });

  it("reaches the same state after a crash at any write", async function () {
    const crashes = await crashAfterEveryWrite({
      controllers: [runMirroring],
      play: async ({ test: at, until }) => {
        const comesTo = (count: number) =>
          until(async () => shownEndpoints(await slicesOf(at)).length === count);
        await makeService(at, "own", { selector: undefined });
        const subsets = [subset(80, "10.0.0.1", "10.0.0.2"), subset(90, "fd00::1")];
        await at.post(path, { metadata: { name: "own" }, subsets });
        await comesTo(3);
        await at.patch(`${path}/own`, {
          subsets: [subset(81, "10.0.0.1"), subset(91, "10.0.0.3")],
        });
        await comesTo(2);
      },
      endState: async (at) =>
        (await slicesOf(at)).map(({ endpoints, ports }) => ({ endpoints, ports })),
    });
    assert.ok(crashes >= 3, String(crashes));
  });
});
