import assert from "node:assert/strict";
import { parseFlags, UsageError } from "../flags/parse.ts";
import {
  checkWorkers,
  inflightFlags,
  priorityAndFairness,
  sharedLimits,
  workerFlags,
} from "./sharing-flags.ts";

const sharingFlags = { ...inflightFlags, ...workerFlags };

describe("flags of limits that workers share", () => {
  const limits = (...words: readonly string[]) => sharedLimits(parseFlags(sharingFlags, words));

  it("give a single process the whole limits", () => {
    const all = { readsInFlight: 400, writesInFlight: 200, responseBufferBytes: 256 * 2 ** 20 };
    assert.deepEqual(limits(), all);
  });

  it("give workers equal shares, rounded up", () => {
    const parts = limits("--workers=3", "--max-requests-inflight=100", "--list-memory-budget=3");
    assert.deepEqual(parts, {
      readsInFlight: 34,
      writesInFlight: 67,
      responseBufferBytes: 2 ** 20,
    });
  });

  it("give workers no limit if there is none", () => {
    assert.equal(limits("--workers=2", "--max-requests-inflight=0").readsInFlight, Infinity);
  });

  it("require seats if API Priority and Fairness is enabled", () => {
    const none = ["--max-requests-inflight=0", "--max-mutating-requests-inflight=0"];
    const isOn = (...words: readonly string[]) =>
      priorityAndFairness(parseFlags(sharingFlags, words));
    assert.equal(isOn(), true);
    assert.equal(isOn("--max-requests-inflight=0"), true);
    assert.equal(isOn(...none, "--enable-priority-and-fairness=false"), false);
    assert.throws(() => isOn(...none), UsageError);
  });

  it("reject --workers with options that several processes cannot share", () => {
    const values = parseFlags(sharingFlags, ["--workers=2"]);
    const rest = { "storage-backend": "etcd3", "audit-log-path": "" };
    checkWorkers({ ...values, ...rest });
    checkWorkers({ ...values, ...rest, "audit-log-path": "-" });
    for (const wrong of [{ "storage-backend": "memory" }, { "audit-log-path": "audit.log" }]) {
      assert.throws(() => checkWorkers({ ...values, ...rest, ...wrong }), UsageError);
    }
  });
});
