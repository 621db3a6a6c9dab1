import assert from "node:assert/strict";
import { type TestRegistry, testRegistry } from "../../../registry/testing.ts";
import type { ControllerContext } from "../../controller-context.ts";
import { listAt } from "../../pods/testing.ts";
import { type ControllerTest, crashAfterEveryWrite, startController } from "../../testing.ts";
import { pass } from "../job/testing.ts";
import { runCronJobController } from "./cron-job-controller.ts";

const cronJobs = "batch/v1/cronjobs/ns";
const jobs = "batch/v1/jobs/ns";
const runCronJobs = (context: ControllerContext) =>
  runCronJobController(context, { cronJobWorkers: 5 });
const minuteMs = 60_000;

let test: TestRegistry;
let run: ControllerTest;

async function makeCronJob(at: TestRegistry, name: string, spec: object): Promise<void> {
  const podSpec = { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] };
  const jobTemplate = {
    metadata: { labels: { made: "by-cron" } },
    spec: { template: { spec: podSpec } },
  };
  await at.post(cronJobs, { metadata: { name }, spec: { jobTemplate, ...spec } });
}

const statusOf = async (name: string) => (await test.get(`${cronJobs}/${name}`)).object.status;

/** Ends a Job as the Job controller would. */
async function endJob(at: TestRegistry, name: string, type: "Complete" | "Failed"): Promise<void> {
  const time = new Date(at.clock.now()).toISOString().replace(/\.\d+/, "");
  const reached = type === "Complete" ? "SuccessCriteriaMet" : "FailureTarget";
  const conditions = [reached, type].map((each) => ({
    type: each,
    status: "True",
    lastProbeTime: time,
    lastTransitionTime: time,
  }));
  const completionTime = type === "Complete" ? { completionTime: time } : {};
  const status = { startTime: time, conditions, ...completionTime };
  await at.patch(`${jobs}/${name}/status`, { status });
}

/** Passes time in steps of a second. */
async function passSeconds(seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) await pass(test, 1_000);
}

const jobNames = () => test.names(jobs);
const reasons = async () =>
  (await listAt(test, "v1/events/ns")).map(({ reason, count }) => `${reason} ${count}`).sort();

describe("cronjob-controller", () => {
  beforeEach(async () => {
    test = await testRegistry();
    run = await startController(runCronJobs, { test, clock: test.clock });
  });
  afterEach(() => run.stop());

  it("creates a Job for each scheduled minute, named after it", async () => {
    await makeCronJob(test, "c", { schedule: "* * * * *", timeZone: "Asia/Kolkata" });
    await passSeconds(125);
    const minute = Date.parse("2030-01-01T00:01:00Z") / minuteMs;
    assert.deepEqual(await jobNames(), [`c-${minute}`, `c-${minute + 1}`]);
    const [{ metadata }] = await listAt(test, jobs);
    const annotation = "batch.kubernetes.io/cronjob-scheduled-timestamp";
    assert.equal(metadata.annotations[annotation], "2030-01-01T05:31:00+05:30");
    assert.equal(metadata.labels.made, "by-cron");
    const status = await statusOf("c");
    assert.equal(status.lastScheduleTime, "2030-01-01T00:02:00Z");
    assert.deepEqual(
      status.active.map(({ kind, name }: any) => [kind, name]),
      (await jobNames()).map((name) => ["Job", name]),
    );
  });

  it("keeps the latest finished Jobs, and records the last success", async () => {
    const limits = { successfulJobsHistoryLimit: 1, failedJobsHistoryLimit: 0 };
    await makeCronJob(test, "c", { schedule: "* * * * *", ...limits });
    await passSeconds(2);
    for (const type of ["Complete", "Failed", "Complete"] as const) {
      await passSeconds(60);
      for (const { metadata, status } of await listAt(test, jobs)) {
        if (status?.conditions === undefined) await endJob(test, metadata.name, type);
      }
    }
    await passSeconds(5);
    const left = await listAt(test, jobs);
    assert.equal(left.length, 1);
    const status = await statusOf("c");
    assert.equal(status.lastSuccessfulTime, left[0].status.completionTime);
    assert.equal(status.active, undefined);
  });

  it("forbids, replaces or allows concurrent Jobs", async () => {
    for (const concurrencyPolicy of ["Forbid", "Replace", "Allow"]) {
      const name = concurrencyPolicy.toLowerCase();
      await makeCronJob(test, name, { schedule: "* * * * *", concurrencyPolicy });
    }
    await passSeconds(125);
    const count = async (prefix: string) =>
      (await jobNames()).filter((name) => name.startsWith(prefix)).length;
    assert.deepEqual(
      [await count("forbid"), await count("replace"), await count("allow")],
      [1, 1, 2],
    );
    const seen = await reasons();
    assert.ok(seen.includes("JobAlreadyActive 1") && seen.includes("SuccessfulDelete 1"));
  });

  it("starts one Job for the latest of many missed times, unless its deadline has passed", async () => {
    const spec = { schedule: "*/10 * * * *", suspend: true };
    await makeCronJob(test, "late", spec);
    await makeCronJob(test, "strict", { ...spec, startingDeadlineSeconds: 120 });
    test.clock.advance(24 * 60 * minuteMs + 5 * minuteMs);
    for (const name of ["late", "strict"]) {
      await test.patch(`${cronJobs}/${name}`, { spec: { suspend: false } });
    }
    await passSeconds(3);
    const minute = Date.parse("2030-01-02T00:00:00Z") / minuteMs;
    assert.deepEqual(await jobNames(), [`late-${minute}`]);
    assert.ok((await reasons()).includes("TooManyMissedTimes 1"));
    await passSeconds(6 * 60);
    assert.deepEqual(await jobNames(), [
      `late-${minute}`,
      `late-${minute + 10}`,
      `strict-${minute + 10}`,
    ]);
  });

  it("starts no Job for times before the schedule was changed", async () => {
    await makeCronJob(test, "c", { schedule: "0 0 1 1 *" });
    await passSeconds(200);
    await test.patch(`${cronJobs}/c`, { spec: { schedule: "*/2 * * * *" } });
    await passSeconds(2);
    assert.deepEqual(await jobNames(), []);
    await passSeconds(60);
    assert.deepEqual(await jobNames(), [`c-${Date.parse("2030-01-01T00:04:00Z") / minuteMs}`]);
  });

  it("reports a schedule that never matches, without retries", async () => {
    await makeCronJob(test, "never", { schedule: "0 0 31 2 *" });
    await passSeconds(30);
    assert.deepEqual(await reasons(), ["InvalidSchedule 1"]);
    assert.deepEqual(await jobNames(), []);
  });

  it("removes a deleted Job from the active ones, and warns about one that it did not create", async () => {
    await makeCronJob(test, "c", { schedule: "*/5 * * * *" });
    await passSeconds(301);
    const [name] = await jobNames();
    await test.remove(`${jobs}/${name}`, { propagationPolicy: "Background" });
    await passSeconds(2);
    assert.equal((await statusOf("c")).active, undefined);
    const { metadata } = (await test.get(`${cronJobs}/c`)).object;
    const owner = { apiVersion: "batch/v1", kind: "CronJob", name: "c", uid: metadata.uid };
    const { spec } = (await test.get(`${cronJobs}/c`)).object.spec.jobTemplate;
    const ownerReferences = [{ ...owner, controller: true }];
    await test.post(jobs, { metadata: { name: "manual", ownerReferences }, spec });
    await passSeconds(2);
    const seen = (await reasons()).map((each) => each.split(" ")[0]);
    assert.ok(seen.includes("MissingJob") && seen.includes("UnexpectedJob"), seen.join());
  });

  it("creates no Job twice while its informer is stale", async () => {
    await makeCronJob(test, "c", { schedule: "* * * * *" });
    await passSeconds(30);
    run.holdInformer("cronjobs");
    run.holdInformer("jobs");
    await passSeconds(100);
    run.releaseInformer("cronjobs");
    run.releaseInformer("jobs");
    await passSeconds(5);
    assert.equal((await jobNames()).length, 2);
    assert.equal((await statusOf("c")).active.length, 2);
    assert.equal(run.calls("create", "jobs"), 2);
  });
});

describe("cronjob-controller: crashes", () => {
  it("reach the same state after a crash at any write", async function () {
    const crashes = await crashAfterEveryWrite({
      controllers: [runCronJobs],
      play: async ({ test: at, until }) => {
        const policy = { concurrencyPolicy: "Replace", successfulJobsHistoryLimit: 1 };
        await makeCronJob(at, "c", { schedule: "* * * * *", ...policy });
        const count = async () => (await at.names(jobs)).length;
        await until(async () => (await count()) === 1);
        const [first] = await at.names(jobs);
        await endJob(at, first!, "Complete");
        await until(async () => (await at.names(jobs)).some((name) => name !== first));
        const second = (await at.names(jobs)).find((name) => name !== first);
        await until(async () => !(await at.names(jobs)).includes(second!));
        await until(async () => (await count()) === 2);
        await at.patch(`${cronJobs}/c`, { spec: { suspend: true } });
      },
      endState: async (at) => {
        const { status } = (await at.get(`${cronJobs}/c`)).object;
        const active = (status.active ?? []).map(({ name }: any) => name);
        return { jobs: await at.names(jobs), active, lastScheduleTime: status.lastScheduleTime };
      },
    });
    assert.ok(crashes >= 5, String(crashes));
  });
});
