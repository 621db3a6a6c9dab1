import assert from "node:assert/strict";
import { seededRandom } from "#base";
import { type TestRegistry, testRegistry } from "../../../registry/testing.ts";
import type { ControllerContext } from "../../controller-context.ts";
import { listAt } from "../../pods/testing.ts";
import { type ControllerTest, crashAfterEveryWrite, startController } from "../../testing.ts";
import { runJobController } from "./job-controller.ts";
import {
  activePods,
  conditionTypes,
  endPod,
  indexOf,
  jobsPath,
  jobStatus,
  makeJob,
  pass,
} from "./testing.ts";

const runJobs = (context: ControllerContext) => runJobController(context, { jobWorkers: 5 });
const finalizer = "batch.kubernetes.io/job-tracking";

let test: TestRegistry;
let run: ControllerTest;

/** Passes time until the status of the Job is as wanted. */
async function comesTo(name: string, wanted: (status: any) => unknown, stepMs = 500) {
  let status: any;
  for (let steps = 0; steps < 200; steps++) {
    status = await jobStatus(test, name);
    if (wanted(status)) return status;
    await pass(test, stepMs);
  }
  throw new Error(`the status stays ${JSON.stringify(status)}; ${run.reports.join("; ")}`);
}

const isFinished = (status: any) =>
  conditionTypes(status).some((each) => /^(Complete|Failed):/.test(each));

const eventReasons = async () =>
  (await listAt(test, "v1/events/ns"))
    .filter(({ reason }) => reason !== "SuccessfulCreate")
    .map(({ reason }) => reason)
    .sort();

async function endActive(exitCode: number, count = Infinity): Promise<void> {
  for (const { metadata } of (await activePods(test)).slice(0, count)) {
    await endPod(test, metadata.name, exitCode);
  }
}

describe("job-controller", () => {
  beforeEach(async () => {
    test = await testRegistry();
    run = await startController(runJobs, { test, clock: test.clock });
  });
  afterEach(() => run.stop());

  it("runs pods until completions have succeeded, at most parallelism at once", async () => {
    await makeJob(test, "work", { completions: 3, parallelism: 2 });
    await comesTo("work", ({ active }) => active === 2);
    const [pod] = await activePods(test);
    assert.deepEqual(pod.metadata.finalizers, [finalizer]);
    await endActive(0);
    await comesTo("work", ({ active, succeeded }) => active === 1 && succeeded === 2);
    await endActive(0);
    const status = await comesTo("work", isFinished);
    assert.deepEqual(conditionTypes(status), [
      "SuccessCriteriaMet:CompletionsReached",
      "Complete:CompletionsReached",
    ]);
    assert.equal(status.succeeded, 3);
    assert.ok(status.completionTime !== undefined);
    const pods = await listAt(test, "v1/pods/ns");
    assert.ok(pods.every(({ metadata }) => metadata.finalizers === undefined));
    assert.deepEqual(await eventReasons(), ["Completed"]);
  });

  it("completes a work queue when one pod has succeeded and none is active", async () => {
    await makeJob(test, "queue", { parallelism: 3 });
    await test.patch(`${jobsPath}/queue`, { spec: {} });
    await comesTo("queue", ({ active }) => active === 3);
    await endActive(0, 1);
    await comesTo("queue", ({ active, succeeded }) => active === 2 && succeeded === 1);
    await endActive(0);
    assert.equal((await comesTo("queue", isFinished)).succeeded, 3);
  });

  it("backs off 10 s after a failure, twice as long after the next", async () => {
    await makeJob(test, "fails", { backoffLimit: 2 });
    for (const delayMs of [10_000, 20_000]) {
      await comesTo("fails", ({ active }) => active === 1, 100);
      const failedAt = test.clock.now();
      await endActive(1);
      await comesTo("fails", ({ active = 0 }) => active === 0, 100);
      await comesTo("fails", ({ active }) => active === 1, 100);
      const waited = test.clock.now() - failedAt;
      // The time of the failure has no fraction of a second.
      assert.ok(waited > delayMs - 1_000 && waited < delayMs + 3_000, String(waited));
    }
    await endActive(1);
    const status = await comesTo("fails", isFinished);
    assert.deepEqual(conditionTypes(status), [
      "FailureTarget:BackoffLimitExceeded",
      "Failed:BackoffLimitExceeded",
    ]);
    assert.equal(status.failed, 3);
  });

  it("deletes the pods of a suspended Job, and resets its start time when it is resumed", async () => {
    await makeJob(test, "pause", { parallelism: 2, completions: 2, activeDeadlineSeconds: 60 });
    const before = await comesTo("pause", ({ active }) => active === 2);
    await test.patch(`${jobsPath}/pause`, { spec: { suspend: true } });
    await comesTo("pause", ({ active = 0 }) => active === 0);
    assert.deepEqual(await activePods(test), []);
    await pass(test, 120_000);
    assert.deepEqual(conditionTypes(await jobStatus(test, "pause")), ["Suspended:JobSuspended"]);
    await test.patch(`${jobsPath}/pause`, { spec: { suspend: false } });
    const after = await comesTo("pause", ({ active }) => active === 2);
    assert.notEqual(after.startTime, before.startTime);
    assert.equal(after.failed ?? 0, 0);
    await pass(test, 61_000);
    const status = await comesTo("pause", isFinished);
    assert.ok(conditionTypes(status).includes("Failed:DeadlineExceeded"));
    assert.deepEqual(await activePods(test), []);
  });

  it("ignores a Job managed by another controller", async () => {
    await makeJob(test, "other", { managedBy: "example.com/queue" });
    await makeJob(test, "own");
    await comesTo("own", ({ active }) => active === 1);
    assert.deepEqual(await jobStatus(test, "other"), {});
    assert.equal((await activePods(test)).length, 1);
  });

  it("removes the finalizer from pods whose Job is orphaning them", async () => {
    const job = await makeJob(test, "gone");
    await comesTo("gone", ({ active }) => active === 1);
    await test.remove(`${jobsPath}/gone`, { propagationPolicy: "Background" });
    await run.until(async () => {
      const [pod] = await listAt(test, "v1/pods/ns");
      return pod.metadata.ownerReferences[0].uid === job.metadata.uid && !pod.metadata.finalizers;
    });
  });

  it("backs off while the server rejects its pods", async () => {
    run.failNext("create", "pods", Infinity);
    await makeJob(test, "refused", { parallelism: 10, completions: 10 });
    for (let second = 0; second < 600; second++) await pass(test, 1_000);
    const [creations, updates] = [run.calls("create", "pods"), run.calls("update", "jobs")];
    assert.ok(creations >= 8 && creations <= 20, String(creations));
    assert.ok(updates <= 2, String(updates));
  });

  it("writes nothing if nothing changes", async () => {
    await makeJob(test, "calm");
    await comesTo("calm", ({ active }) => active === 1);
    await pass(test, 2_000);
    const count = () => run.calls("update", "jobs") + run.calls("patch", "pods");
    const before = count();
    const [pod] = await activePods(test);
    for (const note of ["a", "b", "c"]) {
      await test.patch(`v1/pods/ns/${pod.metadata.name}`, { metadata: { annotations: { note } } });
      await pass(test, 2_000);
    }
    await pass(test, 600_000);
    assert.equal(count(), before);
  });
});

describe("job-controller: indexes", () => {
  beforeEach(async () => {
    test = await testRegistry();
    run = await startController(runJobs, { test, clock: test.clock });
  });
  afterEach(() => run.stop());

  const indexed = { completionMode: "Indexed" };
  const endIndex = async (index: number, exitCode: number, more: object = {}) => {
    const pod = (await activePods(test)).find((each) => indexOf(each) === String(index));
    assert.ok(pod, `no active pod of index ${index}`);
    await endPod(test, pod.metadata.name, exitCode, more);
    return pod;
  };
  const activeIndexes = async () => (await activePods(test)).map(indexOf).sort().join();

  it("names pods by completion index, and passes it as label and variable", async () => {
    await makeJob(test, "ix", { ...indexed, completions: 2, parallelism: 2 });
    await comesTo("ix", ({ active }) => active === 2);
    const [first] = await activePods(test);
    assert.match(first.metadata.name, /^ix-0-.{5}$/);
    assert.equal(first.spec.hostname, "ix-0");
    assert.equal(first.metadata.labels["batch.kubernetes.io/job-completion-index"], "0");
    const [{ env }] = first.spec.containers;
    assert.equal(env[0].name, "JOB_COMPLETION_INDEX");
  });

  it("is elastic: removes indexes with fewer completions, and adds them with more", async () => {
    await makeJob(test, "el", { ...indexed, completions: 3, parallelism: 3 });
    await comesTo("el", ({ active }) => active === 3);
    await endIndex(0, 0);
    await endIndex(2, 0);
    await comesTo("el", ({ completedIndexes }) => completedIndexes === "0,2");
    await test.patch(`${jobsPath}/el`, { spec: { completions: 5, parallelism: 5 } });
    await comesTo("el", ({ active }) => active === 3);
    assert.equal(await activeIndexes(), "1,3,4");
    await test.patch(`${jobsPath}/el`, { spec: { completions: 2, parallelism: 2 } });
    await comesTo("el", ({ active, succeeded }) => active === 1 && succeeded === 1);
    await endIndex(1, 0);
    const status = await comesTo("el", isFinished);
    assert.equal(status.completedIndexes, "0,1");
    assert.equal(status.succeeded, 2);
  });

  it("counts the failures of an index, and fails it beyond backoffLimitPerIndex", async () => {
    const limits = { backoffLimitPerIndex: 1, maxFailedIndexes: 2 };
    await makeJob(test, "pi", { ...indexed, completions: 2, parallelism: 2, ...limits });
    await comesTo("pi", ({ active }) => active === 2);
    const before = await endIndex(0, 1);
    await comesTo("pi", ({ active, failed }) => active === 2 && failed === 1);
    const after = (await activePods(test)).find((each) => indexOf(each) === "0");
    const count = "batch.kubernetes.io/job-index-failure-count";
    assert.equal(before.metadata.annotations[count], "0");
    assert.equal(after.metadata.annotations[count], "1");
    await endIndex(0, 1);
    await comesTo("pi", ({ failedIndexes }) => failedIndexes === "0");
    await endIndex(1, 0);
    const status = await comesTo("pi", isFinished);
    assert.ok(conditionTypes(status).includes("Failed:FailedIndexes"));
    assert.deepEqual([status.succeeded, status.failed], [1, 2]);
  });

  it("completes when a rule of the success policy is met, and deletes the other pods", async () => {
    const rules = [{ succeededIndexes: "0-1", succeededCount: 1 }];
    const successPolicy = { rules };
    await makeJob(test, "sp", { ...indexed, completions: 3, parallelism: 3, successPolicy });
    await comesTo("sp", ({ active }) => active === 3);
    await endIndex(2, 0);
    await comesTo("sp", ({ completedIndexes }) => completedIndexes === "2");
    await endIndex(1, 0);
    const status = await comesTo("sp", isFinished);
    assert.deepEqual(conditionTypes(status), [
      "SuccessCriteriaMet:SuccessPolicy",
      "Complete:SuccessPolicy",
    ]);
    assert.deepEqual([status.succeeded, status.failed ?? 0], [2, 0]);
    assert.deepEqual(await activePods(test), []);
  });

  it("ignores a failure, counts it or fails the Job by the pod failure policy", async () => {
    const disrupted = [{ type: "DisruptionTarget", status: "True" }];
    const podFailurePolicy = {
      rules: [
        { action: "Ignore", onPodConditions: disrupted },
        { action: "FailJob", onExitCodes: { operator: "In", values: [42] } },
      ],
    };
    await makeJob(test, "fp", { backoffLimit: 0, podFailurePolicy });
    await comesTo("fp", ({ active }) => active === 1);
    const [first] = await activePods(test);
    await endPod(test, first.metadata.name, 1, { conditions: disrupted });
    await comesTo("fp", ({ active = 0 }) => active === 0, 200);
    await comesTo("fp", ({ active }) => active === 1);
    assert.equal((await jobStatus(test, "fp")).failed ?? 0, 0);
    const [second] = await activePods(test);
    await endPod(test, second.metadata.name, 42);
    const { conditions } = await comesTo("fp", isFinished);
    const [{ reason, message }] = conditions;
    assert.equal(reason, "PodFailurePolicy");
    const what = `Container c for pod ns/${second.metadata.name} failed with exit code 42`;
    assert.equal(message, `${what} matching FailJob rule at index 1`);
  });
});

describe("job-controller: counting", () => {
  const slow = (name: string) => `counts every finish once with ${name}`;

  /**
   * Terminates random pods until the Job has finished; returns the numbers of successes and
   * failures.
   */
  async function playAtRandom(seed: number, disturb: (step: number) => Promise<void>) {
    const random = seededRandom(seed);
    const ended = { succeeded: 0, failed: 0 };
    const isIndexed = random.below(2) === 0;
    const completions = 3 + random.below(6);
    const parallelism = 1 + random.below(completions);
    const mode = isIndexed ? { completionMode: "Indexed" } : {};
    await makeJob(test, "law", { ...mode, completions, parallelism, backoffLimit: 1000 });
    for (let step = 0; ; step++) {
      assert.ok(step < 3_000, JSON.stringify(await jobStatus(test, "law")));
      const status = await jobStatus(test, "law");
      if (isFinished(status)) return { ended, status, completions };
      for (const { metadata } of await activePods(test)) {
        if (random.below(3) > 0) continue;
        const isFailure = random.below(4) === 0;
        await endPod(test, metadata.name, isFailure ? 1 : 0);
        ended[isFailure ? "failed" : "succeeded"]++;
      }
      // The informer shows the ends before it may be held.
      await pass(test, 0);
      await disturb(step);
      await pass(test, 200 + random.below(random.below(5) === 0 ? 60_000 : 2_000));
    }
  }

  async function checkLaw(seed: number, disturb: (step: number) => Promise<void>) {
    const { ended, status, completions } = await playAtRandom(seed, disturb);
    const shown = `seed ${seed}: ${JSON.stringify(status)}`;
    assert.equal(status.succeeded, ended.succeeded, shown);
    assert.equal(status.succeeded, completions, shown);
    assert.equal(status.failed ?? 0, ended.failed, shown);
    const { succeeded = [], failed = [] } = status.uncountedTerminatedPods ?? {};
    assert.deepEqual([...succeeded, ...failed], [], shown);
  }

  async function underLaw(seeds: number, disturbWith: (seed: number) => () => Promise<void>) {
    for (let seed = 1; seed <= seeds; seed++) {
      test = await testRegistry({ seed });
      run = await startController(runJobs, { test, clock: test.clock });
      await checkLaw(seed, disturbWith(seed));
      await run.stop();
    }
  }

  it(slow("restarts of the controller"), () =>
    underLaw(6, (seed) => {
      const random = seededRandom(`restart ${seed}`);
      return async () => {
        if (random.below(4) > 0) return;
        await run.stop();
        run = await startController(runJobs, { test, clock: test.clock });
      };
    }),
  );

  it(slow("stale informers"), () =>
    underLaw(6, (seed) => {
      const random = seededRandom(`stale ${seed}`);
      const held = new Set<string>();
      return async () => {
        const plural = random.pick(["jobs", "pods"]);
        if (held.delete(plural)) return run.releaseInformer(plural);
        held.add(plural);
        run.holdInformer(plural);
      };
    }),
  );

  it(slow("failing requests"), () =>
    underLaw(6, (seed) => {
      const random = seededRandom(`failing ${seed}`);
      return async () => {
        const [verb, plural] = random.pick([
          ["update", "jobs"],
          ["patch", "pods"],
          ["create", "pods"],
        ] as const);
        if (random.below(3) === 0) run.failNext(verb, plural, 1 + random.below(3));
      };
    }),
  );
});

describe("job-controller: crashes", () => {
  const endState = async (at: TestRegistry) => {
    const { items } = await at.list(jobsPath);
    const jobs: object[] = [];
    for await (const { object } of items) {
      const { active, succeeded, failed, completedIndexes, failedIndexes } = object.status as any;
      const counts = { active, succeeded, failed, completedIndexes, failedIndexes };
      jobs.push({ ...counts, conditions: conditionTypes(object.status).sort() });
    }
    const tracked = (await listAt(at, "v1/pods/ns")).filter(({ metadata }) => metadata.finalizers);
    return { jobs, tracked: tracked.length, active: (await activePods(at)).length };
  };

  it("reach the same state after a crash at any write of a Job that completes", async function () {
    const crashes = await crashAfterEveryWrite({
      controllers: [runJobs],
      play: async ({ test: at, until }) => {
        await makeJob(at, "work", { completions: 3, parallelism: 2 });
        // The first pod fails, all others succeed.
        const first = (await until(async () => (await activePods(at))[0])).metadata.name;
        await endPod(at, first, 1);
        await until(async () => {
          for (const { metadata } of await activePods(at)) await endPod(at, metadata.name, 0);
          return isFinished(await jobStatus(at, "work"));
        });
      },
      endState,
    });
    assert.ok(crashes >= 10, String(crashes));
  });

  it("reach the same state after a crash at any write of Jobs that fail or are suspended", async function () {
    const crashes = await crashAfterEveryWrite({
      controllers: [runJobs],
      play: async ({ test: at, until }) => {
        const mode = { completionMode: "Indexed", backoffLimitPerIndex: 0 };
        await makeJob(at, "fails", { completions: 2, parallelism: 2, ...mode });
        await until(async () => (await activePods(at)).length === 2);
        for (const { metadata } of await activePods(at)) {
          await endPod(at, metadata.name, metadata.name.startsWith("fails-0") ? 1 : 0);
        }
        await until(async () => isFinished(await jobStatus(at, "fails")));
        await makeJob(at, "pause", { completions: 2, parallelism: 2 });
        await until(async () => (await activePods(at)).length === 2);
        await at.patch(`${jobsPath}/pause`, { spec: { suspend: true } });
        await until(async () => (await activePods(at)).length === 0);
      },
      endState,
    });
    assert.ok(crashes >= 10, String(crashes));
  });
});
