import assert from "node:assert/strict";
import { systemClock } from "#base";
import { serviceUnavailable, timeout } from "#meta";
import { PostStartHooks } from "./post-start-hooks.ts";

describe("PostStartHooks", () => {
  const hook = "poststarthook/rbac/bootstrap-roles";
  const { signal } = new AbortController();
  const newHooks = () => {
    const reported: unknown[] = [];
    const report = (_what: string, error: unknown) => void reported.push(error);
    const clock = { ...systemClock, sleep: () => Promise.resolve() };
    return { reported, hooks: new PostStartHooks({ clock, report, signal }) };
  };
  const check = (hooks: PostStartHooks) => hooks.checks.find(({ name }) => name === hook)?.check();

  it("retries a hook while the store is unavailable", async () => {
    const { reported, hooks } = newHooks();
    assert.throws(() => check(hooks), /not finished/);
    const failures = [timeout("late"), serviceUnavailable("away")];
    const attempts = [...failures];
    await hooks.run([hook], async () => {
      const failure = attempts.shift();
      if (failure !== undefined) throw failure;
    });
    await check(hooks);
    assert.deepEqual(reported, failures);
  });

  it("rejects with any other error, and leaves the check failing", async () => {
    const { hooks } = newHooks();
    const fault = new Error("broken");
    await assert.rejects(
      hooks.run([hook], () => Promise.reject(fault)),
      fault,
    );
    assert.throws(() => check(hooks), /not finished/);
  });
});
