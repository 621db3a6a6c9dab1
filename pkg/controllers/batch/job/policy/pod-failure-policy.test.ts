import assert from "node:assert/strict";
import type { Pod, PodFailurePolicyRule } from "#kinds";
import { decideFailure } from "./pod-failure-policy.ts";

const metadata = { namespace: "ns", name: "p", uid: "u", resourceVersion: "1" };
const ended = (name: string, exitCode: number) => ({ name, state: { terminated: { exitCode } } });

function decide(status: Pod["status"], ...rules: readonly PodFailurePolicyRule[]) {
  return decideFailure({ rules }, { metadata, ...(status === undefined ? {} : { status }) });
}

describe("decideFailure", () => {
  const main = { containerStatuses: [ended("a", 3), { name: "b" }] };

  it("counts failures that no rule matches", () => {
    const uncounted = { action: undefined, isCounted: true, message: undefined };
    assert.deepEqual(decideFailure(undefined, { metadata }), uncounted);
    const rule = { action: "Ignore", onExitCodes: { operator: "In", values: [4] } } as const;
    assert.deepEqual(decide(main, rule), uncounted);
  });

  it("applies the first rule that matches a nonzero exit code", () => {
    const ignore = { action: "Ignore", onExitCodes: { operator: "NotIn", values: [3] } } as const;
    const index = { action: "FailIndex", onExitCodes: { operator: "In", values: [3] } } as const;
    assert.equal(decide(main, ignore, index).action, "FailIndex");
    const done = { containerStatuses: [ended("a", 0)] };
    assert.equal(decide(done, ignore).action, undefined);
    const init = { initContainerStatuses: [ended("i", 3)] };
    assert.equal(decide(init, index).action, "FailIndex");
    const other = { ...index, onExitCodes: { ...index.onExitCodes, containerName: "b" } };
    assert.equal(decide(main, other).action, undefined);
  });

  it("matches conditions by type and status", () => {
    const onPodConditions = [{ type: "DisruptionTarget", status: "True" }];
    const rule = { action: "FailJob", onPodConditions } as const;
    const conditions = [{ type: "DisruptionTarget", status: "True" } as const];
    assert.equal(
      decide({ conditions }, rule).message,
      "Pod ns/p has condition DisruptionTarget matching FailJob rule at index 0",
    );
    const off = [{ type: "DisruptionTarget", status: "False" } as const];
    assert.equal(decide({ conditions: off }, rule).action, undefined);
    assert.equal(decide({ conditions }, { ...rule, action: "Ignore" }).isCounted, false);
  });
});
