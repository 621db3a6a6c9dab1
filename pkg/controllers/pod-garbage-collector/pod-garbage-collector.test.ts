/** Which pods the pod garbage collector deletes, and the status that it sets. */
import assert from "node:assert/strict";
import { type TestRegistry, testRegistry } from "../../registry/testing.ts";
import { type ControllerTest, startController } from "../testing.ts";
import { runPodGarbageCollector } from "./pod-garbage-collector.ts";

const pods = "v1/pods/ns";
const nodes = "v1/nodes/";

describe("pod-garbage-collector-controller", () => {
  let test: TestRegistry;
  let run: ControllerTest | undefined;

  const start = async (terminatedPodThreshold: number): Promise<ControllerTest> => {
    const options = { terminatedPodThreshold };
    run = await startController((context) => runPodGarbageCollector(context, options), {
      test,
      clock: test.clock,
    });
    return run;
  };
  beforeEach(async () => {
    test = await testRegistry();
    await test.post(nodes, { metadata: { name: "here" } });
  });
  afterEach(async () => run?.stop());

  /** A pod with a finalizer, so that its status can be read after the deletion. */
  async function makePod(name: string, nodeName: string, status: object = {}): Promise<void> {
    const metadata = { name, finalizers: ["example.com/hold"] };
    const spec = { nodeName, containers: [{ name: "c", image: "i" }] };
    await test.post(pods, { metadata, spec });
    await test.patch(`${pods}/${name}/status`, { status });
  }

  const podOf = async (name: string): Promise<any> => (await test.get(`${pods}/${name}`)).object;
  const isDeleted = async (name: string) => {
    const { metadata } = await podOf(name);
    return metadata.deletionTimestamp !== undefined;
  };

  /** Milliseconds until the pod is deleted. */
  async function deletedAfter(name: string): Promise<number> {
    const began = test.clock.now();
    await run!.until(async () => {
      if (await isDeleted(name)) return true;
      test.clock.advance(1_000);
      return false;
    });
    return test.clock.now() - began;
  }

  it("fails and deletes pods of a deleted node, after a quarantine", async () => {
    await makePod("orphan", "gone", { phase: "Running" });
    await makePod("safe", "here", { phase: "Running" });
    await start(0);
    assert.ok((await deletedAfter("orphan")) >= 40_000);
    const { status } = await podOf("orphan");
    assert.equal(status.phase, "Failed");
    const [condition] = status.conditions;
    assert.deepEqual(
      [condition.type, condition.status, condition.reason, condition.message],
      ["DisruptionTarget", "True", "DeletionByPodGC", "PodGC: node no longer exists"],
    );
    assert.equal(await isDeleted("safe"), false);
  });

  it("keeps pods whose node appears within the quarantine", async () => {
    await makePod("early", "late", { phase: "Running" });
    await makePod("orphan", "gone", { phase: "Running" });
    await start(0);
    await test.post(nodes, { metadata: { name: "late" } });
    await deletedAfter("orphan");
    assert.equal(await isDeleted("early"), false);
  });

  it("deletes terminating pods that were never bound", async () => {
    await makePod("unbound", "");
    await test.remove(`${pods}/unbound`);
    await start(0);
    await run!.until(async () => {
      test.clock.advance(1_000);
      return (await podOf("unbound")).status.phase === "Failed";
    });
  });

  it("deletes terminating pods of a node out of service that is not ready", async () => {
    const taints = [{ key: "node.kubernetes.io/out-of-service", effect: "NoExecute" }];
    await test.post(nodes, { metadata: { name: "broken" }, spec: { taints } });
    await makePod("stuck", "broken", { phase: "Running" });
    await makePod("alive", "broken", { phase: "Running" });
    await test.remove(`${pods}/stuck`);
    await start(0);
    await run!.until(async () => {
      test.clock.advance(1_000);
      return (await podOf("stuck")).status.phase === "Failed";
    });
    assert.equal((await podOf("stuck")).metadata.deletionGracePeriodSeconds, 0);
    assert.equal(await isDeleted("alive"), false);
  });

  it("deletes evicted and then the oldest terminated pods beyond the threshold", async () => {
    for (const name of ["first", "second", "third"]) {
      await makePod(name, "here", { phase: "Succeeded" });
      test.clock.advance(1_000);
    }
    await makePod("evicted", "here", { phase: "Failed", reason: "Evicted" });
    await makePod("running", "here", { phase: "Running" });
    await start(2);
    await deletedAfter("evicted");
    await deletedAfter("first");
    assert.deepEqual(
      [await isDeleted("second"), await isDeleted("third"), await isDeleted("running")],
      [false, false, false],
    );
    assert.equal((await podOf("first")).status.phase, "Succeeded");
  });

  it("reports a failed delete, and retries", async () => {
    await makePod("unbound", "");
    await test.remove(`${pods}/unbound`);
    const controller = await start(0);
    controller.failNext("patch", "pods", 1);
    await controller.until(async () => {
      test.clock.advance(1_000);
      return (await podOf("unbound")).status.phase === "Failed";
    });
    assert.match(controller.reports.join(), /Failed to delete the pod ns\/unbound.*injected/);
  });
});
