import assert from "node:assert/strict";
import { badRequest, serviceUnavailable } from "#meta";
import { StartError, toStartError } from "./start-error.ts";

describe("faults of a start", () => {
  const etcd = { kind: "etcd", endpoints: ["http://a:2379", "http://b:2379"] } as const;

  it("name the etcd that does not answer", () => {
    const fault = toStartError(serviceUnavailable("refused"), etcd);
    assert.ok(fault instanceof StartError);
    assert.equal(fault.message, "etcd at http://a:2379, http://b:2379 does not respond: refused");
  });

  it("leave alone what is no fault of the store", () => {
    for (const error of [badRequest("odd"), new Error("a bug")]) {
      assert.equal(toStartError(error, etcd), error);
      assert.equal(toStartError(error, { kind: "memory" }), error);
    }
  });
});
