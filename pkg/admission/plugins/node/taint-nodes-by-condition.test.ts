import assert from "node:assert/strict";
import { testAdmission } from "../../testing.ts";

describe("TaintNodesByCondition", () => {
  const taint = { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" };

  it("taints a new node once", async () => {
    const test = await testAdmission("TaintNodesByCondition");
    const object: any = { metadata: { name: "n" }, spec: {} };
    assert.equal(await test.admit("create v1/nodes", { object }), "accepted");
    await test.admit("create v1/nodes", { object });
    assert.deepEqual(object.spec.taints, [taint]);
  });

  it("ignores updates", async () => {
    const test = await testAdmission("TaintNodesByCondition");
    const object = { metadata: { name: "n" }, spec: {} };
    assert.equal(await test.admit("update v1/nodes//n", { object, old: object }), "accepted");
    assert.deepEqual(object.spec, {});
  });
});
