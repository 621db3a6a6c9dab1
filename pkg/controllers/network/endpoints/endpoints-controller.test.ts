import assert from "node:assert/strict";
import type { EndpointSubset } from "#kinds";
import { type TestRegistry, testRegistry } from "../../../registry/testing.ts";
import { pass } from "../../batch/job/testing.ts";
import type { ControllerContext } from "../../controller-context.ts";
import { type ControllerTest, crashAfterEveryWrite, startController } from "../../testing.ts";
import { repackSubsets } from "../services/repack-subsets.ts";
import { makeService, runPod, setPod } from "../testing.ts";
import { runEndpointsController } from "./endpoints-controller.ts";
import { countAddresses, truncateSubsets } from "./service-subsets.ts";

const path = "v1/endpoints/ns";
const runEndpoints = (context: ControllerContext) =>
  runEndpointsController(context, { endpointWorkers: 5, endpointsBatchMs: 0 });

let test: TestRegistry;
let run: ControllerTest;

/** `ready;not ready:ports` of each subset. */
const shown = (subsets: readonly EndpointSubset[] = []) =>
  subsets
    .map(({ addresses = [], notReadyAddresses = [], ports = [] }) => {
      const ips = (list: typeof addresses) => list.map(({ ip }) => ip).join();
      const numbers = ports.map(({ port }) => port).join();
      return `${ips(addresses)};${ips(notReadyAddresses)}:${numbers}`;
    })
    .sort()
    .join(" ");

const subsetsAt = async (at: TestRegistry, name: string) =>
  shown((await at.get(`${path}/${name}`)).object.subsets);

async function comesTo(name: string, wanted: string): Promise<void> {
  let found = "";
  for (let steps = 0; steps < 100; steps++) {
    found = await subsetsAt(test, name).catch(String);
    if (found === wanted) return;
    await pass(test, 200);
  }
  assert.equal(found, wanted, run.reports.join());
}

describe("endpoints-controller", () => {
  beforeEach(async () => {
    test = await testRegistry();
    run = await startController(runEndpoints, { test, clock: test.clock });
  });
  afterEach(() => run.stop());

  it("lists ready and not ready addresses of pods that are not terminating", async () => {
    await makeService(test, "web", { clusterIP: "None" }, { labels: { team: "a" } });
    await comesTo("web", "");
    const { metadata } = (await test.get(`${path}/web`)).object;
    assert.deepEqual(metadata.labels, {
      team: "a",
      "service.kubernetes.io/headless": "",
      "endpoints.kubernetes.io/managed-by": "endpoint-controller",
    });
    await runPod(test, "a", { ips: ["10.0.0.1"] });
    await runPod(test, "b", { ips: ["10.0.0.2"], ready: false });
    await comesTo("web", "10.0.0.1;10.0.0.2:80");
    await setPod(test, "b", { ready: true });
    await comesTo("web", "10.0.0.1,10.0.0.2;:80");
    await test.remove("v1/pods/ns/a", { gracePeriodSeconds: 30 });
    await comesTo("web", "10.0.0.2;:80");
    await test.patch("v1/services/ns/web", { spec: { publishNotReadyAddresses: true } });
    await comesTo("web", "10.0.0.1,10.0.0.2;:80");
  });

  it("has one subset per set of ports, and none for pods without the named port", async () => {
    const ports = [
      { name: "http", port: 80, targetPort: "web" },
      { name: "metrics", port: 90 },
    ];
    await makeService(test, "web", { ports });
    const named = (containerPort: number) => ({ ports: [{ name: "web", containerPort }] });
    await runPod(test, "a", { ips: ["10.0.0.1"], ...named(8080) });
    await runPod(test, "b", { ips: ["10.0.0.2"], ...named(8080) });
    await runPod(test, "c", { ips: ["10.0.0.3"], ...named(9090) });
    await comesTo("web", "10.0.0.1,10.0.0.2,10.0.0.3;:90 10.0.0.1,10.0.0.2;:8080 10.0.0.3;:9090");
  });

  it("deletes Endpoints of deleted Services, even of those deleted while no controller ran", async () => {
    await makeService(test, "web");
    await comesTo("web", "");
    await test.remove("v1/services/ns/web");
    const isGone = async () => (await test.names(path)).length === 0;
    await run.until(isGone);
    await run.stop();
    await test.post(path, { metadata: { name: "left" }, subsets: [] });
    const lock = { "control-plane.alpha.kubernetes.io/leader": "{}" };
    await test.post(path, { metadata: { name: "lock", annotations: lock } });
    run = await startController(runEndpoints, { test, clock: test.clock });
    await run.until(async () => (await test.names(path)).join() === "lock");
  });

  it("ignores user-managed Endpoints of a Service without a selector", async () => {
    await makeService(test, "own", { selector: undefined });
    const subsets = [{ addresses: [{ ip: "10.0.0.9" }], ports: [{ port: 1 }] }];
    await test.post(path, { metadata: { name: "own" }, subsets });
    await makeService(test, "web");
    await comesTo("web", "");
    assert.equal(await subsetsAt(test, "own"), "10.0.0.9;:1");
  });

  it("writes nothing if nothing changes", async () => {
    await makeService(test, "web");
    await runPod(test, "a", { ips: ["10.0.0.1"] });
    await comesTo("web", "10.0.0.1;:80");
    await pass(test, 2_000);
    const before = run.calls("update", "endpoints");
    await test.patch("v1/services/ns/web", { metadata: { annotations: { a: "b" } } });
    await test.patch("v1/pods/ns/a", { metadata: { annotations: { a: "b" } } });
    await pass(test, 60_000);
    assert.equal(run.calls("update", "endpoints"), before);
  });

  it("reaches the same state after a crash at any write", async function () {
    const crashes = await crashAfterEveryWrite({
      controllers: [runEndpoints],
      play: async ({ test: at, until }) => {
        await makeService(at, "web");
        await makeService(at, "gone");
        await runPod(at, "a", { ips: ["10.0.0.1"] });
        await until(async () => (await subsetsAt(at, "web").catch(String)) === "10.0.0.1;:80");
        await until(async () => (await at.names(path)).length === 2);
        await at.remove("v1/services/ns/gone");
        await setPod(at, "a", { ready: false });
        await until(async () => (await at.names(path)).length === 1);
      },
      endState: async (at) => ({
        names: await at.names(path),
        web: await subsetsAt(at, "web").catch(String),
      }),
    });
    assert.ok(crashes >= 4, String(crashes));
  });
});

describe("subsets of Endpoints", () => {
  const address = (ip: string) => ({ ip });

  it("are repacked: not ready takes precedence, and equal addresses share ports", () => {
    const packed = repackSubsets([
      { addresses: [address("b"), address("a")], ports: [{ port: 80 }] },
      { addresses: [address("a"), address("b")], ports: [{ port: 90 }] },
      { addresses: [address("c")], notReadyAddresses: [address("c")], ports: [{ port: 1 }] },
      { addresses: [address("d")] },
    ]);
    assert.equal(shown(packed).replace("90,80", "80,90"), ";c:1 a,b;:80,90 d;:");
    assert.deepEqual(repackSubsets(packed), packed);
  });

  it("are truncated to 1000 addresses, not ready ones first", () => {
    const many = (count: number) =>
      Array.from({ length: count }, (_, index) => address(`10.0.${index >> 8}.${index & 255}`));
    const counts = (subsets: readonly EndpointSubset[]) =>
      subsets.map(({ addresses = [], notReadyAddresses = [] }) => [
        addresses.length,
        notReadyAddresses.length,
      ]);
    const few = [{ addresses: many(600), notReadyAddresses: many(400) }];
    assert.equal(truncateSubsets(few), few);
    const unready = truncateSubsets([
      { addresses: many(600), notReadyAddresses: many(600) },
      { notReadyAddresses: many(200) },
    ]);
    assert.deepEqual(counts(unready), [
      [600, 300],
      [0, 100],
    ]);
    const ready = truncateSubsets([
      { addresses: many(900), notReadyAddresses: many(10) },
      { addresses: many(300) },
    ]);
    assert.deepEqual(counts(ready), [
      [750, 0],
      [250, 0],
    ]);
    assert.equal(countAddresses(ready), 1_000);
  });
});
