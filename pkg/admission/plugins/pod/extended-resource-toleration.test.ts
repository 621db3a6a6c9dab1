import assert from "node:assert/strict";
import { testAdmission } from "../../testing.ts";

describe("ExtendedResourceToleration", () => {
  it("tolerates taints of requested extended resources, and of no others", async () => {
    const test = await testAdmission("ExtendedResourceToleration");
    const requests = { "example.com/gpu": "1", cpu: "1", "kubernetes.io/x": "1" };
    const spec: any = { containers: [{ name: "c", resources: { requests } }] };
    const object = { metadata: {}, spec };
    assert.equal(await test.admit("create v1/pods/ns", { object }), "accepted");
    assert.deepEqual(spec.tolerations, [{ key: "example.com/gpu", operator: "Exists" }]);
    await test.admit("create v1/pods/ns", { object });
    assert.equal(spec.tolerations.length, 1);
  });
});
