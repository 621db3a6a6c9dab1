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
  it("selects the pods that it labels itself", () => {
    const { object, complaints } = make({});
    assert.deepEqual(complaints, []);
    const { selector, template: made, backoffLimit, completions, parallelism } = object.spec;
    assert.equal(selector.matchLabels["batch.kubernetes.io/controller-uid"], "u");
    assert.equal(made.metadata.labels["job-name"], "x");
    assert.deepEqual([backoffLimit, completions, parallelism], [6, 1, 1]);
  });

  it("runs pods that end", () => {
    const { complaints } = make({ template: { spec: { ...podSpec, restartPolicy: "Always" } } });
    assert.deepEqual(complaints, [
      'Required spec.template.spec.restartPolicy: valid values: "OnFailure", "Never"',
    ]);
  });

  it("counts completions when they are indexed", () => {
    const { complaints } = make({ completionMode: "Indexed", parallelism: 2 });
    assert.deepEqual(complaints, [
      "Required spec.completions: when completion mode is Indexed",
    ]);
  });

  it("keeps its template", () => {
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

describe("CronJob", () => {
  const cron = (spec: Sketch) =>
    created(cronJob, {
      spec: { schedule: "*/5 * * * *", jobTemplate: { spec: { template } }, ...spec },
    });

  it("lets jobs overlap and keeps a few of them unless told otherwise", () => {
    const { object, complaints } = cron({});
    assert.deepEqual(complaints, []);
    const { concurrencyPolicy, successfulJobsHistoryLimit, failedJobsHistoryLimit } = object.spec;
    assert.deepEqual(
      [concurrencyPolicy, successfulJobsHistoryLimit, failedJobsHistoryLimit],
      ["Allow", 3, 1],
    );
  });

  it("runs at times that there are", () => {
    for (const schedule of ["@hourly", "@every 1h", "0 0 1 JAN mon-fri", "1-59/2 * * * ?"]) {
      assert.deepEqual(cron({ schedule }).complaints, []);
    }
    for (const schedule of ["", "* * * *", "60 * * * *", "@never", "5-1 * * * *", "*/0 * * * *"]) {
      assert.match(cron({ schedule }).complaints.join(), /^(Invalid|Required) spec\.schedule/);
    }
  });
});
