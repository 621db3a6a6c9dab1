/** Health of nodes: conditions, taints and pods of unresponsive ones. */
import assert from "node:assert/strict";
import { type TestRegistry, testRegistry } from "../../../registry/testing.ts";
import { type ControllerTest, crashAfterEveryWrite, startController } from "../../testing.ts";
import {
  eventsOf,
  makeNode,
  makePod,
  nodeOf,
  passInSteps,
  renewLease,
  setCondition,
  taintsOf,
} from "../testing.ts";
import {
  defaultNodeLifecycleOptions,
  runNodeLifecycleController,
} from "./node-lifecycle-controller.ts";

const options = {
  ...defaultNodeLifecycleOptions,
  nodeMonitorPeriodMs: 1_000,
  nodeMonitorGraceMs: 8_000,
};
const namespaces = ["ns", "default", "kube-node-lease"];

describe("node-lifecycle-controller", () => {
  let test: TestRegistry;
  let run: ControllerTest | undefined;
  beforeEach(async () => {
    test = await testRegistry({ namespaces });
  });
  afterEach(async () => run?.stop());

  const start = async () => {
    run = await startController((context) => runNodeLifecycleController(context, options), {
      test,
      clock: test.clock,
    });
    await passInSteps(test, 500);
  };
  /** Time passes while the kubelets of some nodes renew their Leases. */
  async function passWithLeases(ms: number, names: readonly string[]): Promise<void> {
    for (let passed = 0; passed < ms; passed += 2_000) {
      for (const name of names) await renewLease(test, name);
      await passInSteps(test, 2_000);
    }
  }
  const conditionsOf = async (name: string): Promise<string[]> => {
    const { status } = await nodeOf(test, name);
    return status.conditions
      .map(({ type, status: is, reason, message }: any) => `${type} ${is} ${reason} ${message}`)
      .sort();
  };
  const readyOf = async (pod: string): Promise<string> => {
    const { status } = (await test.get(`v1/pods/ns/${pod}`)).object;
    return status.conditions.find(({ type }: any) => type === "Ready").status;
  };

  it("marks an unresponsive node Unknown, not one whose Lease is renewed", async () => {
    await makeNode(test, "silent");
    await makeNode(test, "alive");
    await makePod(test, "p", "silent");
    await makePod(test, "q", "alive");
    await start();
    await passWithLeases(4_000, ["alive"]);
    assert.deepEqual(await taintsOf(test, "silent"), []);
    await passWithLeases(8_000, ["alive"]);
    const never = "Unknown NodeStatusNeverUpdated Kubelet never posted node status.";
    assert.deepEqual(await conditionsOf("silent"), [
      `DiskPressure ${never}`,
      `MemoryPressure ${never}`,
      `PIDPressure ${never}`,
      "Ready Unknown NodeStatusUnknown Kubelet stopped posting node status.",
    ]);
    assert.deepEqual(await taintsOf(test, "silent"), [
      "unreachable:NoExecute",
      "unreachable:NoSchedule",
    ]);
    const { spec } = await nodeOf(test, "silent");
    assert.ok(spec.taints.every(({ timeAdded }: any) => timeAdded.startsWith("2030-")));
    assert.deepEqual([await readyOf("p"), await readyOf("q")], ["False", "True"]);
    assert.deepEqual(await taintsOf(test, "alive"), []);
    assert.deepEqual(await eventsOf(test, "ns", "p"), ["Warning NodeNotReady: Node is not ready"]);
    assert.deepEqual(await eventsOf(test, "default", "silent"), [
      "Normal NodeNotReady: Node silent status is now: NodeNotReady",
      "Normal RegisteredNode: Node silent event: Registered Node silent in Controller",
    ]);
  });

  it("removes the taints when heartbeats resume, without changing pods", async () => {
    await makeNode(test, "a");
    await makeNode(test, "b");
    await makePod(test, "p", "a");
    await start();
    await passWithLeases(14_000, ["b"]);
    assert.equal((await taintsOf(test, "a")).length, 2);
    await setCondition(test, "a", "Ready", "True");
    await passWithLeases(4_000, ["a", "b"]);
    assert.deepEqual(await taintsOf(test, "a"), []);
    assert.equal(await readyOf("p"), "False");
  });

  it("taints a node that reports not ready, without changing its pods", async () => {
    await makeNode(test, "a", { ready: "False" });
    await makeNode(test, "b");
    await makePod(test, "p", "b");
    await start();
    await passWithLeases(4_000, ["a", "b"]);
    assert.deepEqual(await taintsOf(test, "a"), ["not-ready:NoExecute", "not-ready:NoSchedule"]);
    await setCondition(test, "b", "Ready", "False");
    await passWithLeases(4_000, ["a", "b"]);
    assert.equal(await readyOf("p"), "True");
  });

  it("swaps the NoExecute taint when a not ready node becomes unresponsive", async () => {
    await makeNode(test, "a", { ready: "False" });
    await makeNode(test, "b");
    await start();
    await passWithLeases(14_000, ["b"]);
    assert.deepEqual(await taintsOf(test, "a"), [
      "unreachable:NoExecute",
      "unreachable:NoSchedule",
    ]);
  });

  it("waits for the first status of a new node, then reports NodeStatusNeverUpdated", async () => {
    await makeNode(test, "a", { ready: "" });
    await makeNode(test, "b");
    await start();
    await passWithLeases(30_000, ["b"]);
    assert.deepEqual(await taintsOf(test, "a"), []);
    await passWithLeases(34_000, ["b"]);
    assert.equal((await conditionsOf("a")).length, 4);
    assert.ok((await taintsOf(test, "a")).includes("unreachable:NoExecute"));
  });

  it("evicts nothing while no node of the cluster is ready", async () => {
    await makeNode(test, "a");
    await makeNode(test, "b");
    await start();
    await passWithLeases(14_000, []);
    for (const name of ["a", "b"]) {
      assert.deepEqual(await taintsOf(test, name), ["unreachable:NoSchedule"]);
    }
    // When one node is ready again, the grace period of the other one restarts.
    await setCondition(test, "a", "Ready", "True");
    await passWithLeases(12_000, ["a"]);
    assert.deepEqual(await taintsOf(test, "a"), []);
    assert.ok((await taintsOf(test, "b")).includes("unreachable:NoExecute"));
  });

  it("taints one node in ten seconds in a healthy zone", async () => {
    for (const name of ["a", "b"]) await makeNode(test, name, { ready: "False" });
    for (const name of ["c", "d", "e"]) await makeNode(test, name);
    await start();
    const tainted = async () => {
      const taints = await Promise.all(["a", "b"].map((name) => taintsOf(test, name)));
      return taints.filter((each) => each.includes("not-ready:NoExecute")).length;
    };
    const all = ["a", "b", "c", "d", "e"];
    await passWithLeases(4_000, all);
    assert.equal(await tainted(), 1);
    await passWithLeases(8_000, all);
    assert.equal(await tainted(), 2);
  });

  it("taints by conditions and by spec.unschedulable, and copies stable labels", async () => {
    const labels = { "kubernetes.io/os": "linux", "kubernetes.io/arch": "arm64" };
    await makeNode(test, "a", { labels, spec: { unschedulable: true } });
    await setCondition(test, "a", "DiskPressure", "True");
    await start();
    await passInSteps(test, 500);
    assert.deepEqual(await taintsOf(test, "a"), [
      "disk-pressure:NoSchedule",
      "unschedulable:NoSchedule",
    ]);
    const { metadata } = await nodeOf(test, "a");
    assert.equal(metadata.labels["beta.kubernetes.io/os"], "linux");
    assert.equal(metadata.labels["beta.kubernetes.io/arch"], "arm64");
    await setCondition(test, "a", "DiskPressure", "False");
    await test.patch("v1/nodes//a", { spec: { unschedulable: null } });
    await passInSteps(test, 500);
    assert.deepEqual(await taintsOf(test, "a"), []);
  });

  it("marks a pod on an unresponsive node not ready", async () => {
    await makeNode(test, "a");
    await makeNode(test, "b");
    await start();
    await passWithLeases(14_000, ["b"]);
    await makePod(test, "late", "");
    const target = { kind: "Node", name: "a" };
    await test.post("v1/pods/ns/late/binding", { metadata: { name: "late" }, target });
    run!.failNext("patch", "pods", 1);
    await run!.until(async () => {
      await passWithLeases(1_000, ["b"]);
      return (await readyOf("late")) === "False";
    });
  });

  it("records an Event for a deleted node, and retries a conflict with its kubelet", async () => {
    await makeNode(test, "a");
    await makeNode(test, "b");
    await start();
    run!.holdInformer("nodes");
    await setCondition(test, "a", "MemoryPressure", "False");
    await passWithLeases(12_000, ["b"]);
    run!.releaseInformer("nodes");
    const conditions = await conditionsOf("a");
    assert.ok(
      conditions.includes(
        "MemoryPressure Unknown NodeStatusUnknown Kubelet stopped posting node status.",
      ),
    );
    await test.remove("v1/nodes//a");
    await passWithLeases(2_000, ["b"]);
    const events = await eventsOf(test, "default", "a");
    assert.ok(
      events.includes("Normal RemovingNode: Node a event: Removing Node a from Controller"),
    );
  });

  it("reaches the same state after a crash at any write", async () => {
    const crashes = await crashAfterEveryWrite({
      namespaces,
      controllers: [(context) => runNodeLifecycleController(context, options)],
      play: async ({ test, until }) => {
        await makeNode(test, "a", { labels: { "kubernetes.io/os": "linux" } });
        await makeNode(test, "b");
        for (const name of ["p", "q"]) await makePod(test, name, "a");
        await until(async () => {
          await renewLease(test, "b");
          return (await taintsOf(test, "a")).includes("unreachable:NoExecute");
        });
      },
      endState: async (test) => {
        await renewLease(test, "b");
        const pods = await Promise.all(["p", "q"].map((name) => test.get(`v1/pods/ns/${name}`)));
        const { status, metadata } = await nodeOf(test, "a");
        return {
          taints: [await taintsOf(test, "a"), await taintsOf(test, "b")],
          labels: metadata.labels,
          conditions: status.conditions.map(({ type, status: is }: any) => `${type} ${is}`).sort(),
          pods: pods.map(({ object }) => object.status.conditions.map(({ status: is }: any) => is)),
        };
      },
    });
    assert.ok(crashes >= 5);
  });
});
