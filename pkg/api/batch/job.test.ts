import assert from "node:assert/strict";
import { created, type Sketch, updated } from "../testing.ts";
import { cronJob } from "./cron-job.ts";
import { job } from "./job.ts";

const podSpec = { containers: [{ name: "c", image: "i" }], restartPolicy: "Never" };
const template = { spec: podSpec };

/** As the registry does before the hooks run. */
const metadata = { uid: "u" };

const make = (spec: Sketch) => created(job, { metadata, spec: { template, ...spec } });

describe("Job", () => {
  it("generates selector and labels of its pods", () => {
    const { object, complaints } = make({});
    assert.deepEqual(complaints, []);
    const { selector, template: made, backoffLimit, completions, parallelism } = object.spec;
    assert.equal(selector.matchLabels["batch.kubernetes.io/controller-uid"], "u");
    assert.equal(made.metadata.labels["job-name"], "x");
    assert.deepEqual([backoffLimit, completions, parallelism], [6, 1, 1]);
  });

  it("keeps labels taken from the template when an update omits them", () => {
    const labelled = { metadata: { labels: { a: "b" } }, spec: podSpec };
    const old = created(job, { spec: { template: labelled } });
    const write = { subresource: "status" };
    const { object } = updated(job, old, { spec: { template: { spec: podSpec } } }, write);
    assert.equal(object.metadata.labels.a, "b");
  });

  it("rejects restartPolicy Always", () => {
    const { complaints } = make({ template: { spec: { ...podSpec, restartPolicy: "Always" } } });
    assert.deepEqual(complaints, [
      'Required spec.template.spec.restartPolicy: valid values: "OnFailure", "Never"',
    ]);
  });

  it("requires completions with completionMode Indexed", () => {
    const { complaints } = make({ completionMode: "Indexed", parallelism: 2 });
    assert.deepEqual(complaints, ["Required spec.completions: when completion mode is Indexed"]);
  });

  it("prints the internal value of an immutable policy", () => {
    const rules = [{ action: "Ignore", onPodConditions: [{ type: "X" }] }];
    const old = make({ podFailurePolicy: { rules } });
    const { selector, template } = old.object.spec;
    const podFailurePolicy = { rules: [{ ...rules[0], action: "Count" }] };
    const spec = { selector, template, podFailurePolicy };
    assert.deepEqual(updated(job, old, { metadata, spec }).complaints, [
      'Invalid spec.podFailurePolicy = {"Rules":[{"Action":"Count","OnExitCodes":null,' +
        '"OnPodConditions":[{"Type":"X","Status":"True"}]}]}: field is immutable',
    ]);
  });

  it("rejects changes of the template", () => {
    const old = make({});
    const other = { spec: { ...podSpec, nodeName: "n" } };
    const { selector } = old.object.spec;
    const labels = old.object.spec.template.metadata.labels;
    const spec = { selector, template: { ...other, metadata: { labels } } };
    const { complaints } = updated(job, old, { metadata, spec });
    assert.deepEqual(
      complaints.map((each) => each.replace(/ = .*: /, ": ")),
      ["Invalid spec.template: field is immutable"],
    );
  });
});

describe("Job status", () => {
  const started = { active: 1, succeeded: 2, startTime: "2024-01-01T00:00:00Z" };
  const inStatus = { subresource: "status", gates: ["JobManagedBy"] };
  const holds = (...types: readonly string[]) =>
    types.map((type) => ({ type, status: "True", lastTransitionTime: null }));
  const after = (status: Sketch, spec: Sketch = {}, before: Sketch = started) => {
    const old = updated(
      job,
      make(spec),
      { metadata, spec: { template }, status: before },
      inStatus,
    );
    const sketch = { metadata, spec: { template }, status };
    return updated(job, old, sketch, inStatus).complaints;
  };

  it("requires a reason, the order of conditions, and no active pods to finish", () => {
    const conditions = holds("SuccessCriteriaMet", "Complete");
    const completionTime = "2024-01-01T00:00:09Z";
    const done = { ...started, active: 0, conditions, completionTime };
    assert.deepEqual(after(done), []);
    assert.deepEqual(after({ ...started, conditions: holds("Complete") }), [
      "Required status.completionTime: completionTime is required for Complete jobs",
      "Invalid status.conditions: " +
        "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
      "Invalid status.active = 1: active>0 is invalid for finished job",
    ]);
    assert.deepEqual(after({ ...done, completionTime: "2023-01-01T00:00:00Z" }), [
      'Invalid status.completionTime = "2023-01-01T00:00:00Z": ' +
        "must be equal to or after `startTime`",
    ]);
    assert.deepEqual(after({ ...done, conditions: holds("SuccessCriteriaMet") }, {}, done), [
      'Invalid status.completionTime = "2024-01-01T00:00:09Z": ' +
        "cannot set completionTime when there is no Complete=True condition",
      "Invalid status.conditions: cannot disable the terminal Complete=True condition",
    ]);
  });

  it("rejects decreases of counts", () => {
    assert.deepEqual(after({ ...started, succeeded: 1 }), [
      "Invalid status.succeeded = 1: cannot decrease the succeeded counter",
    ]);
  });

  it("validates indexes", () => {
    const indexed = { completionMode: "Indexed", completions: 9, backoffLimitPerIndex: 1 };
    const indexes = (completedIndexes: string, failedIndexes?: string) =>
      after({ ...started, completedIndexes, ...(failedIndexes ? { failedIndexes } : {}) }, indexed);
    assert.deepEqual(indexes("0,2-4,8", "5-7"), []);
    assert.deepEqual(indexes("0-9"), [
      'Invalid status.completedIndexes = "0-9": ' +
        'error parsing completedIndexes: too large index: "9"',
    ]);
    assert.deepEqual(indexes("1-4", "4-6"), [
      'Invalid status.failedIndexes = "4-6": ' +
        "failedIndexes and completedIndexes overlap at index: 4",
    ]);
    assert.match(indexes("3,2").join(), /non-increasing order, previous: 3, current: 2/);
    assert.match(indexes("1-2-3").join(), /at most two parts separated by '-'$/);
    assert.match(indexes("x").join(), /cannot convert string to integer for index: "x"$/);
  });
});

describe("CronJob", () => {
  const cron = (spec: Sketch) =>
    created(cronJob, {
      spec: { schedule: "*/5 * * * *", jobTemplate: { spec: { template } }, ...spec },
    });

  it("defaults concurrencyPolicy and history limits", () => {
    const { object, complaints } = cron({});
    assert.deepEqual(complaints, []);
    const { concurrencyPolicy, successfulJobsHistoryLimit, failedJobsHistoryLimit } = object.spec;
    assert.deepEqual(
      [concurrencyPolicy, successfulJobsHistoryLimit, failedJobsHistoryLimit],
      ["Allow", 3, 1],
    );
  });

  it("validates schedule and time zone", () => {
    for (const schedule of ["@hourly", "@every 1h", "0 0 1 JAN mon-fri", "1-59/2 * * * ?"]) {
      assert.deepEqual(cron({ schedule }).complaints, []);
    }
    for (const schedule of ["", "* * * *", "60 * * * *", "@never", "5-1 * * * *", "*/0 * * * *"]) {
      assert.match(cron({ schedule }).complaints.join(), /^(Invalid|Required) spec\.schedule/);
    }
  });
});
