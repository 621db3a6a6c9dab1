import assert from "node:assert/strict";
import { CommitTimes } from "./commit-times.ts";

describe("CommitTimes", () => {
  it("keeps the first time of a revision", async () => {
    const times = new CommitTimes();
    times.note(7);
    const first = times.of(7);
    await new Promise((resolve) => setTimeout(resolve, 2));
    times.note(7);
    assert.equal(times.of(7), first);
    assert.ok(first! <= performance.now());
  });

  it("drops the times of old revisions, and never returns that of another revision", () => {
    const times = new CommitTimes();
    times.note(5);
    times.note(5 + 4096);
    assert.equal(times.of(5), undefined);
    assert.notEqual(times.of(5 + 4096), undefined);
    times.note(5);
    assert.equal(times.of(5), undefined);
    assert.equal(times.of(6), undefined);
  });
});
