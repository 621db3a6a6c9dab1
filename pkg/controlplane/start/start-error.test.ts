import assert from "node:assert/strict";
import { badRequest, serviceUnavailable } from "#meta";
import { StartFault, startFault } from "./start-error.ts";

describe("faults of a start", () => {
  const etcd = { kind: "etcd", endpoints: ["http://a:2379", "http://b:2379"] } as const;

  it("name the etcd that does not answer", () => {
    const fault = startFault(serviceUnavailable("refused"), etcd);
    assert.ok(fault instanceof StartFault);
    assert.equal(fault.message, "etcd at http://a:2379, http://b:2379 does not answer: refused");
  });

  it("leave alone what is no fault of the store", () => {
    for (const error of [badRequest("odd"), new Error("a bug")]) {
      assert.equal(startFault(error, etcd), error);
      assert.equal(startFault(error, { kind: "memory" }), error);
    }
  });
});
