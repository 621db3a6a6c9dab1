import assert from "node:assert/strict";
import { testAdmission } from "../../testing.ts";

describe("ExtendedResourceToleration", () => {
  it("tolerates taints of requested extended resources, and of no others", async () => {
    const test = await testAdmission("ExtendedResourceToleration");
    const requests = { "example.com/gpu": "1", cpu: "1", "kubernetes.io/x": "1" };
    const spec: any = { containers: [{ name: "c", resources: { requests } }] };
    const object = { metadata: {}, spec };
    const tolerated = { key: "example.com/gpu", operator: "Exists", effect: "NoSchedule" };
    assert.equal(await test.admit("create v1/pods/ns", { object }), "accepted");
    assert.deepEqual(spec.tolerations, [tolerated]);
    await test.admit("create v1/pods/ns", { object });
    assert.equal(spec.tolerations.length, 1);
  });

  it("replaces a toleration that differs in duration only", async () => {
    const test = await testAdmission("ExtendedResourceToleration");
    const own = { key: "example.com/gpu", operator: "Exists", effect: "NoSchedule" };
    const requests = { "example.com/gpu": "1" };
    const tolerations = [{ ...own, tolerationSeconds: 1 }, { key: "a" }];
    const spec: any = { initContainers: [{ name: "c", resources: { requests } }], tolerations };
    await test.admit("create v1/pods/ns", { object: { metadata: {}, spec } });
    assert.deepEqual(spec.tolerations, [own, { key: "a" }]);
  });
});
