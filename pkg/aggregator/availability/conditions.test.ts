import assert from "node:assert/strict";
import { changedStatus, localAvailability } from "./conditions.ts";

const now = Date.parse("2030-01-02T03:04:05.678Z");
const metadata = { name: "v1.a", uid: "1", resourceVersion: "1" };
const spec = { groupPriorityMinimum: 1, versionPriority: 1 };
const local = {
  type: "Available",
  ...localAvailability,
  lastTransitionTime: "2029-01-01T00:00:00Z",
};
const failed = { status: "False", reason: "ServiceNotFound", message: "gone" } as const;

describe("condition Available", () => {
  it("is added with the transition time", () => {
    const condition = { ...local, lastTransitionTime: "2030-01-02T03:04:05Z" };
    assert.deepEqual(changedStatus({ metadata, spec }, localAvailability, now), {
      conditions: [condition],
    });
  });

  it("is not updated if unchanged", () => {
    const status = { conditions: [local] };
    assert.equal(changedStatus({ metadata, spec, status }, localAvailability, now), undefined);
  });

  it("changes its transition time only with its status", () => {
    const status = { conditions: [{ type: "Other", status: "True" }, local] };
    const changed = changedStatus({ metadata, spec, status }, failed, now);
    const [other, condition] = changed?.conditions ?? [];
    assert.equal(other?.type, "Other");
    const time = "2030-01-02T03:04:05Z";
    assert.deepEqual(condition, { type: "Available", ...failed, lastTransitionTime: time });
    const again = { conditions: [condition!] };
    const later = changedStatus(
      { metadata, spec, status: again },
      { ...failed, reason: "X" },
      now + 9e9,
    );
    assert.equal(later?.conditions?.[0]?.lastTransitionTime, time);
    assert.equal(later?.conditions?.[0]?.reason, "X");
  });
});
