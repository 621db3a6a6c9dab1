/** Events that kubelets record about their pods and nodes. */
import assert from "node:assert/strict";
import { type NodesTest, startNodes } from "../testing.ts";

const prefix = "simulated.keelson.dev";

describe("Events of kubelets", () => {
  let run: NodesTest;
  const start = async (settings: Parameters<typeof startNodes>[0] = {}) =>
    (run = await startNodes(settings));
  afterEach(async () => {
    await run.stop();
    assert.deepEqual(run.reports, []);
  });

  /** Events of an object, in order. */
  const eventsOf = async (object: string, namespace = "ns") => {
    const names = await run.test.names(`v1/events/${namespace}`);
    const all = await Promise.all(
      names.map(async (name) => (await run.test.get(`v1/events/${namespace}/${name}`)).object),
    );
    return all
      .filter(({ involvedObject }) => involvedObject.name === object)
      .sort((a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion));
  };
  const told = async (object: string, namespace?: string) =>
    (await eventsOf(object, namespace)).map(
      ({ type, reason, message }) => `${type} ${reason}: ${message}`,
    );
  const reasonsOf = async (object: string, namespace?: string) =>
    (await eventsOf(object, namespace)).map(({ reason }) => reason);

  it("record starts and stops of containers", async () => {
    await start();
    const containers = [{ name: "app", image: "nginx:1", imagePullPolicy: "IfNotPresent" }];
    const spec = { containers, terminationGracePeriodSeconds: 5 };
    const annotations = { [`${prefix}/stop-after`]: "2s" };
    await run.createPod("p", { spec, metadata: { annotations } });
    await run.test.remove("v1/pods/ns/p");
    await run.pass(1_000);
    assert.deepEqual(await told("p"), [
      'Normal Pulled: Container image "nginx:1" already present on machine',
      "Normal Created: Created container: app",
      "Normal Started: Started container app",
      "Normal Killing: Stopping container app",
    ]);
    const [event] = await eventsOf("p");
    assert.equal(event.involvedObject.fieldPath, "spec.containers{app}");
    assert.deepEqual(event.source, { component: "kubelet", host: "hollow-0" });
  });

  it("record failed pulls and back-offs", async () => {
    await start();
    const containers = [{ name: "app", image: "absent:1", imagePullPolicy: "Always" }];
    const annotations = { [`${prefix}/image-pull-error`]: "no such image" };
    await run.createPod("pull", { spec: { containers }, metadata: { annotations } });
    await run.pass(2_000);
    assert.deepEqual(await told("pull"), [
      'Normal Pulling: Pulling image "absent:1"',
      'Warning Failed: Failed to pull image "absent:1": no such image',
      "Warning Failed: Error: ErrImagePull",
      'Normal BackOff: Back-off pulling image "absent:1"',
      "Warning Failed: Error: ImagePullBackOff",
    ]);
    const crash = { annotations: { [`${prefix}/crash-loop`]: "true" } };
    const { metadata } = await run.createPod("crash", { metadata: crash });
    await run.pass(5_000);
    assert.equal(
      (await told("crash")).at(-1),
      `Warning BackOff: Back-off restarting failed container app in pod crash_ns(${metadata.uid})`,
    );
  });

  it("record start, conditions and cordoning of the node", async () => {
    await start();
    assert.deepEqual(await told("hollow-0", "default"), [
      "Normal Starting: Starting kubelet.",
      "Normal NodeAllocatableEnforced: Updated Node Allocatable limit across pods",
      "Normal NodeHasSufficientMemory: Node hollow-0 status is now: NodeHasSufficientMemory",
      "Normal NodeHasNoDiskPressure: Node hollow-0 status is now: NodeHasNoDiskPressure",
      "Normal NodeHasSufficientPID: Node hollow-0 status is now: NodeHasSufficientPID",
    ]);
    const [event] = await eventsOf("hollow-0", "default");
    assert.equal(event.involvedObject.uid, "hollow-0");
    const change = async (patch: object) => {
      await run.test.patch("v1/nodes//hollow-0", patch);
      await run.pass(0);
    };
    const fail = (failure: string | null) =>
      change({ metadata: { annotations: { [`${prefix}/failure`]: failure } } });
    await fail("not-ready");
    await fail(null);
    await change({ spec: { unschedulable: true } });
    await change({ spec: { unschedulable: null } });
    const short = { metadata: { annotations: { [`${prefix}/available-memory`]: "10Mi" } } };
    await change(short);
    assert.deepEqual((await reasonsOf("hollow-0", "default")).slice(5), [
      "NodeNotReady",
      "NodeReady",
      "NodeNotSchedulable",
      "NodeSchedulable",
      "NodeHasInsufficientMemory",
      "EvictionThresholdMet",
    ]);
  });

  it("are dropped beyond the rate limit of the process", async () => {
    await start({ eventsPerSecond: 1, count: 201 });
    const count = async () => (await run.test.names("v1/events/default")).length;
    for (let tries = 0; tries < 200 && (await count()) < 1_000; tries++) await run.pass(0);
    await run.createPod("late", {});
    for (let tries = 0; tries < 20; tries++) await run.pass(0);
    assert.deepEqual([await count(), await reasonsOf("late")], [1_000, []]);
    await run.pass(1_000);
    await run.test.remove("v1/pods/ns/late");
    await run.pass(0);
    assert.deepEqual(await reasonsOf("late"), ["Killing"]);
  });
});
