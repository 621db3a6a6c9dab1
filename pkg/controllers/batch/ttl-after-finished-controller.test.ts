import assert from "node:assert/strict";
import { type TestRegistry, testRegistry } from "../../registry/testing.ts";
import { type ControllerTest, startController } from "../testing.ts";
import { makeJob, pass } from "./job/testing.ts";
import { runTtlAfterFinishedController } from "./ttl-after-finished-controller.ts";

const jobs = "batch/v1/jobs/ns";

describe("ttl-after-finished-controller", () => {
  let test: TestRegistry;
  let run: ControllerTest;

  beforeEach(async () => {
    test = await testRegistry();
    const start = startController(
      (context) => runTtlAfterFinishedController(context, { ttlWorkers: 5 }),
      { test, clock: test.clock },
    );
    run = await start;
  });
  afterEach(() => run.stop());

  async function finish(name: string): Promise<void> {
    const time = new Date(test.clock.now()).toISOString().replace(/\.\d+/, "");
    const times = { lastProbeTime: time, lastTransitionTime: time };
    const conditions = ["FailureTarget", "Failed"].map((type) => ({
      type,
      status: "True",
      ...times,
    }));
    await test.patch(`${jobs}/${name}/status`, { status: { startTime: time, conditions } });
  }

  it("deletes a finished Job when its TTL has expired", async () => {
    await makeJob(test, "short", { ttlSecondsAfterFinished: 60 });
    await makeJob(test, "kept");
    await makeJob(test, "running", { ttlSecondsAfterFinished: 0 });
    await finish("short");
    await finish("kept");
    await pass(test, 59_000);
    assert.deepEqual(await test.names(jobs), ["kept", "running", "short"]);
    await pass(test, 1_000);
    // Foreground deletion leaves the Job to the garbage collector.
    const { metadata } = (await test.get(`${jobs}/short`)).object;
    assert.ok(metadata.deletionTimestamp !== undefined);
    assert.deepEqual(metadata.finalizers, ["foregroundDeletion"]);
  });

  it("reads the Job before the deletion, since its TTL may have been extended", async () => {
    await makeJob(test, "more", { ttlSecondsAfterFinished: 60 });
    await finish("more");
    await pass(test, 1_000);
    run.holdInformer("jobs");
    await test.patch(`${jobs}/more`, { spec: { ttlSecondsAfterFinished: 120 } });
    await pass(test, 60_000);
    assert.equal(run.calls("get", "jobs"), 1);
    assert.equal(run.calls("delete", "jobs"), 0);
    run.releaseInformer("jobs");
    await pass(test, 60_000);
    assert.equal(run.calls("delete", "jobs"), 1);
  });
});
