import assert from "node:assert/strict";
import type { Pod } from "#kinds";
import { finishTimeOf } from "./finish-time.ts";
import { PodBackoffs, remainingDelay } from "./pod-backoff.ts";

const base = Date.parse("2030-01-01T00:00:00Z");
const at = (seconds: number) => new Date(base + seconds * 1000).toISOString();

function podEndedAt(seconds: number): Pod {
  const metadata = { name: "p", uid: "u", resourceVersion: "1", creationTimestamp: at(0) };
  const state = { terminated: { exitCode: 1, finishedAt: at(seconds) } };
  return { metadata, status: { containerStatuses: [{ name: "c", state }] } };
}

describe("backoff of Jobs", () => {
  it("doubles from 10 s to 10 min", () => {
    const delays = [0, 1, 2, 3, 6, 7, 8, 1000].map((failures) =>
      remainingDelay({ failures, lastFailure: base }, base),
    );
    assert.deepEqual(
      delays,
      [0, 10, 20, 40, 320, 600, 600, 600].map((each) => each * 1000),
    );
    assert.equal(remainingDelay({ failures: 1, lastFailure: base }, base + 4_000), 6_000);
    assert.equal(remainingDelay({ failures: 1, lastFailure: base }, base + 40_000), 0);
  });

  it("counts the failures since the last success", () => {
    const backoffs = new PodBackoffs();
    const first = backoffs.next("k", [], [podEndedAt(5), podEndedAt(3)]);
    assert.deepEqual(first, { failures: 2, lastFailure: base + 5_000 });
    assert.equal(backoffs.next("k", [], []).failures, 0, "not stored yet");
    backoffs.set("k", first);
    assert.equal(backoffs.next("k", [], [podEndedAt(9)]).failures, 3);
    assert.equal(backoffs.next("k", [podEndedAt(7)], [podEndedAt(6), podEndedAt(9)]).failures, 1);
    assert.equal(backoffs.next("k", [podEndedAt(7)], [podEndedAt(6)]).failures, 0);
  });
});

describe("finishTimeOf", () => {
  it("falls back from containers to the Ready condition, the deletion and the creation", () => {
    const pod = podEndedAt(7);
    assert.equal(finishTimeOf(pod), base + 7_000);
    const running = { name: "d", state: { running: {} } };
    const statuses = [...(pod.status?.containerStatuses ?? []), running];
    const conditions = [{ type: "Ready", status: "False", lastTransitionTime: at(5) } as const];
    assert.equal(
      finishTimeOf({ ...pod, status: { containerStatuses: statuses, conditions } }),
      base + 5_000,
    );
    const deletion = { deletionTimestamp: at(30), deletionGracePeriodSeconds: 20 };
    const metadata = { ...pod.metadata, ...deletion };
    assert.equal(finishTimeOf({ metadata }), base + 10_000);
    assert.equal(finishTimeOf({ metadata: pod.metadata }), base);
  });
});
