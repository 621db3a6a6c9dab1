import assert from "node:assert/strict";
import { badRequest, plainFailure, serviceUnavailable } from "#meta";
import { StoreFault } from "#storage";
import { StartError, toStartError } from "./start-error.ts";

describe("faults of a start", () => {
  const etcd = { kind: "etcd", endpoints: ["http://a:2379", "http://b:2379"] } as const;

  it("name the etcd that does not answer", () => {
    const fault = toStartError(serviceUnavailable("refused"), etcd);
    assert.ok(fault instanceof StartError);
    assert.equal(fault.message, "etcd at http://a:2379, http://b:2379 does not respond: refused");
  });

  it("name the folder and the free space of a full disk", () => {
    const message = "the disk of /data is full: 10 bytes are free";
    const cause = new StoreFault({ kind: "no-space", message });
    const refused = Object.assign(plainFailure("etcdserver: mvcc: database space exceeded"), {
      cause,
    });
    for (const error of [cause, refused]) {
      const fault = toStartError(error, { kind: "embedded", directory: "/data" }) as Error;
      assert.equal(fault.message, `${message}; choose another folder with --data-dir`);
    }
  });

  it("leave alone what is no fault of the store", () => {
    for (const error of [badRequest("odd"), new Error("a bug")]) {
      assert.equal(toStartError(error, etcd), error);
      assert.equal(toStartError(error, { kind: "memory" }), error);
    }
  });
});
