import assert from "node:assert/strict";
import { StatusError } from "#meta";
import { scaleSubresource } from "./scale.ts";

const { scale } = scaleSubresource({
  specReplicasPath: ".spec.size",
  statusReplicasPath: ".status.size",
  labelSelectorPath: ".status.selector",
});
assert(scale !== undefined);

describe("crd/scale", () => {
  it("reads replicas and selector at the paths of the definition", () => {
    const object = { metadata: {}, spec: { size: 3 }, status: { size: 2, selector: "a=b" } };
    assert.deepEqual(scale.get(object), { replicas: 3, observed: 2, selector: "a=b" });
  });

  it("returns 0 for absent replicas and an empty string for an absent selector", () => {
    assert.deepEqual(scale.get({ metadata: {} }), { replicas: 0, observed: 0, selector: "" });
  });

  it("reports the missing replicas field", () => {
    const message = 'the spec replicas field ".spec.size" does not exist';
    assert.equal(scale.missing?.({ metadata: {}, spec: {} }), message);
    assert.equal(scale.missing?.({ metadata: {}, spec: { size: 0 } }), undefined);
  });

  it("sets replicas and creates missing parent objects", () => {
    for (const object of [{ metadata: {}, spec: { size: 1 } }, { metadata: {} }]) {
      scale.set(object, 7);
      assert.deepEqual(scale.get(object).replicas, 7);
    }
  });

  it("rejects setting replicas below a non-object", () => {
    assert.throws(
      () => scale.set({ metadata: { name: "x" }, spec: "text" }, 7),
      (error) => error instanceof StatusError && error.code === 422,
    );
  });
});
