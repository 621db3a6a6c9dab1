import assert from "node:assert/strict";
import { systemClock } from "#base";
import { serviceUnavailable, timeout } from "#meta";
import { PostStartHooks } from "./post-start-hooks.ts";

describe("the steps of a start", () => {
  const step = "poststarthook/rbac/bootstrap-roles";
  const { signal } = new AbortController();
  const begun = () => {
    const told: unknown[] = [];
    const report = (_what: string, error: unknown) => void told.push(error);
    const clock = { ...systemClock, sleep: () => Promise.resolve() };
    return { told, steps: new PostStartHooks({ clock, report, signal }) };
  };
  const check = (steps: PostStartHooks) => steps.checks.find(({ name }) => name === step)?.check();

  it("are done again while the store does not answer", async () => {
    const { told, steps } = begun();
    assert.throws(() => check(steps), /not finished/);
    const failures = [timeout("late"), serviceUnavailable("away")];
    const attempts = [...failures];
    await steps.run([step], async () => {
      const failure = attempts.shift();
      if (failure !== undefined) throw failure;
    });
    await check(steps);
    assert.deepEqual(told, failures);
  });

  it("end with any other fault", async () => {
    const { steps } = begun();
    const fault = new Error("broken");
    await assert.rejects(
      steps.run([step], () => Promise.reject(fault)),
      fault,
    );
    assert.throws(() => check(steps), /not finished/);
  });
});
