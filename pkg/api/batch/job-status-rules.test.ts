/**
 * Which rule of Job status applies to which change: every rule against a change of every field, as
 * kube-apiserver 1.34 decides it (JobStatusValidationOptions).
 */
import assert from "node:assert/strict";
import { created, type Sketch, updated } from "../testing.ts";
import { job } from "./job.ts";

const template = { spec: { containers: [{ name: "c", image: "i" }], restartPolicy: "Never" } };
const metadata = { uid: "u" };

interface Condition {
  readonly type: string;
  readonly status: string;
}
type Status = Sketch & { readonly conditions?: readonly Condition[] };

const is = (type: string, status = "True"): Condition & Sketch => ({
  type,
  status,
  lastTransitionTime: null,
});

const early = "2024-01-01T00:00:00Z";
const late = "2024-01-01T00:00:09Z";

/** Complaints about an update of the status from `old` to `status`. */
function complaintsOf(
  old: Status,
  status: Status,
  spec: Sketch = {},
  gates: readonly string[] = ["JobManagedBy"],
): readonly string[] {
  const write = { subresource: "status", gates };
  const first = created(job, { metadata, spec: { template, ...spec } });
  const before = updated(job, first, { metadata, spec: { template }, status: old }, write);
  return updated(job, before, { metadata, spec: { template }, status }, write).complaints;
}

/** The status with a condition toggled. */
const toggled =
  (type: string) =>
  (status: Status): Status => {
    const others = (status.conditions ?? []).filter((each) => each.type !== type);
    const isThere = others.length < (status.conditions ?? []).length;
    return { ...status, conditions: isThere ? others : [...others, is(type)] };
  };
const replaced =
  (field: string, value: unknown) =>
  (status: Status): Status => ({ ...status, [field]: value });

/** Changes by field: each returns a status that differs in nothing else. */
const changes: Readonly<Record<string, (status: Status) => Status>> = {
  active: replaced("active", 9),
  ready: replaced("ready", 8),
  terminating: replaced("terminating", 7),
  startTime: replaced("startTime", "2024-01-01T00:00:05Z"),
  completionTime: replaced("completionTime", "2024-01-01T00:00:07Z"),
  uncountedTerminatedPods: replaced("uncountedTerminatedPods", { succeeded: ["other"] }),
  completedIndexes: replaced("completedIndexes", "6"),
  failedIndexes: replaced("failedIndexes", "5"),
  Complete: toggled("Complete"),
  Failed: toggled("Failed"),
  FailureTarget: toggled("FailureTarget"),
  SuccessCriteriaMet: toggled("SuccessCriteriaMet"),
  Suspended: toggled("Suspended"),
  none: (status) => status,
};

interface Rule {
  readonly detail: string;
  readonly broken: Status;
  readonly spec?: Sketch;
  /** The changes by which the rule applies. */
  readonly on: readonly string[];
}

const indexed = { completionMode: "Indexed", completions: 9, backoffLimitPerIndex: 1 };
const complete = { startTime: early, completionTime: late };
const ended = { ...complete, conditions: [is("SuccessCriteriaMet"), is("Complete")] };

const rules: readonly Rule[] = [
  {
    detail: "cannot set Complete=True and Failed=true conditions",
    broken: { ...complete, conditions: [is("Complete"), is("Failed")] },
    on: ["Complete", "Failed"],
  },
  {
    detail: "cannot set Complete=True and FailureTarget=true conditions",
    broken: { ...complete, conditions: [is("Complete"), is("FailureTarget")] },
    on: ["Complete", "FailureTarget"],
  },
  {
    detail: "cannot set completionTime when there is no Complete=True condition",
    broken: complete,
    on: ["Complete", "completionTime"],
  },
  {
    detail: "completionTime is required for Complete jobs",
    broken: { startTime: early, conditions: [is("Complete")] },
    on: ["Complete", "completionTime"],
  },
  {
    detail: "must be equal to or after `startTime`",
    broken: { ...ended, startTime: late, completionTime: early },
    on: ["startTime", "completionTime"],
  },
  {
    detail: "cannot set Failed=True condition without the FailureTarget=true condition",
    broken: { startTime: early, conditions: [is("Failed")] },
    on: ["Failed", "failedIndexes"],
  },
  {
    detail: "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
    broken: { ...complete, conditions: [is("Complete")] },
    on: ["Complete", "SuccessCriteriaMet"],
  },
  {
    detail: "active>0 is invalid for finished job",
    broken: { ...ended, active: 1 },
    on: ["Complete", "active"],
  },
  {
    detail: "startTime is required for finished job",
    broken: { ...ended, startTime: null },
    on: ["Complete", "startTime"],
  },
  {
    detail: "must be empty for finished job",
    broken: { ...ended, uncountedTerminatedPods: { failed: ["a"] } },
    on: ["Complete", "uncountedTerminatedPods"],
  },
  {
    detail: 'error parsing completedIndexes: too large index: "9"',
    broken: { completedIndexes: "0-9" },
    spec: indexed,
    on: ["completedIndexes"],
  },
  {
    detail: "error parsing failedIndexes: non-increasing order, previous: 3, current: 2",
    broken: { failedIndexes: "3,2" },
    spec: indexed,
    on: ["failedIndexes"],
  },
  {
    detail: "cannot set non-empty completedIndexes when non-indexed completion mode",
    broken: { completedIndexes: "0" },
    on: ["completedIndexes"],
  },
  {
    detail: "cannot set non-null failedIndexes when backoffLimitPerIndex is null",
    broken: { failedIndexes: "0" },
    on: ["failedIndexes"],
  },
  {
    detail: "failedIndexes and completedIndexes overlap at index: 2",
    broken: { completedIndexes: "0-2", failedIndexes: "2" },
    spec: indexed,
    on: ["completedIndexes", "failedIndexes"],
  },
  {
    detail: "terminating>0 is invalid for finished job",
    broken: { ...ended, terminating: 1 },
    on: ["Complete", "terminating"],
  },
  {
    detail: "cannot set more ready pods than active",
    broken: { active: 1, ready: 2 },
    on: ["active", "ready"],
  },
];

const has = (complaints: readonly string[], detail: string): boolean =>
  complaints.some((each) => each.endsWith(`: ${detail}`));

describe("Job status, every rule against every change", () => {
  for (const { detail, broken, spec, on } of rules) {
    it(`"${detail}" applies only to changes of ${on.join(" and ")}`, () => {
      const applied = Object.entries(changes)
        .filter(([, change]) => has(complaintsOf(change(broken), broken, spec), detail))
        .map(([field]) => field);
      assert.deepEqual(applied.sort(), [...on].sort());
    });

    it(`"${detail}" requires the feature gate JobManagedBy`, () => {
      for (const field of on) {
        const old = changes[field]!(broken);
        assert.ok(!has(complaintsOf(old, broken, spec, []), detail), field);
      }
    });
  }

  it("a suspended Job without completions finishes without a startTime", () => {
    const [detail, broken] = [
      "startTime is required for finished job",
      { ...ended, startTime: null },
    ];
    for (const suspend of [true, false]) {
      for (const completions of [0, 1]) {
        const complaints = complaintsOf({}, broken, { suspend, completions });
        assert.equal(has(complaints, detail), !(suspend && completions === 0));
      }
    }
  });
});

describe("Job status, fields that cannot be reverted", () => {
  for (const type of ["Failed", "Complete", "FailureTarget"]) {
    it(`keeps ${type}`, () => {
      const detail = `cannot disable the terminal ${type}=True condition`;
      const old = { conditions: [is(type)] };
      assert.ok(has(complaintsOf(old, {}), detail));
      assert.ok(has(complaintsOf(old, { conditions: [is(type, "False")] }), detail));
      assert.ok(!has(complaintsOf(old, { ...old, active: 1 }), detail));
      assert.ok(!has(complaintsOf(old, {}, {}, []), detail));
    });
  }

  it("keeps SuccessCriteriaMet, and requires it before Complete, with any gate", () => {
    const [met, done] = [is("SuccessCriteriaMet"), is("Complete")];
    for (const gates of [[], ["JobManagedBy"]]) {
      const about = (from: Condition[], to: Condition[]) =>
        complaintsOf({ conditions: from }, { conditions: to }, {}, gates).join();
      assert.match(about([met], []), /cannot disable the SuccessCriteriaMet=True condition/);
      assert.match(about([done], [met, done]), /already has Complete=true conditions/);
      assert.match(
        about([], [met, is("Failed")]),
        /cannot set SuccessCriteriaMet=True and Failed=/,
      );
      assert.match(
        about([], [met, is("FailureTarget")]),
        /=True and FailureTarget=true conditions/,
      );
    }
  });

  it("rejects decreases of counts, except of successes of an elastic Indexed Job", () => {
    const elastic = { completionMode: "Indexed", completions: 3, parallelism: 3 };
    const fixed = { ...elastic, parallelism: 2 };
    for (const spec of [elastic, fixed, { completions: 3, parallelism: 3 }]) {
      const down = (field: string) =>
        has(
          complaintsOf({ [field]: 2 }, { [field]: 1 }, spec),
          `cannot decrease the ${field} counter`,
        );
      assert.equal(down("failed"), true);
      assert.equal(down("succeeded"), spec !== elastic);
    }
  });

  it("keeps completionTime", () => {
    const detail = "field is immutable";
    assert.ok(
      has(complaintsOf(ended, { ...ended, completionTime: "2024-01-01T00:00:10Z" }), detail),
    );
    assert.ok(!has(complaintsOf(ended, { ...ended, completionTime: null }), detail));
  });

  const states = [undefined, "True", "False"];
  const times = [undefined, early, late];
  it("keeps startTime, unless the Job is suspended or resumed", () => {
    const statusOf = (startTime: string | undefined, suspended: string | undefined): Status => ({
      startTime: startTime ?? null,
      conditions: suspended === undefined ? [] : [is("Suspended", suspended)],
    });
    for (const suspend of [true, false]) {
      for (const from of states) {
        for (const to of states) {
          for (const start of times) {
            for (const next of times) {
              const complaints = complaintsOf(statusOf(start, from), statusOf(next, to), {
                suspend,
              });
              const isResuming = from === "True" && to === "False";
              const isRefused = start !== undefined && next !== start && !suspend && !isResuming;
              const about = JSON.stringify({ suspend, from, to, start, next });
              const detail = "startTime cannot be removed for unsuspended job";
              assert.equal(has(complaints, detail), isRefused, about);
              assert.equal(complaints.length, isRefused ? 1 : 0, about);
            }
          }
        }
      }
    }
  });
});
