import assert from "node:assert/strict";
import { testAdmission } from "../../testing.ts";

describe("PodTopologyLabels", () => {
  it("changes nothing: its feature gate is off", async () => {
    const test = await testAdmission("PodTopologyLabels");
    const object = { metadata: { name: "p" }, target: { name: "n" } };
    assert.equal(await test.admit("create v1/pods/ns/p/binding", { object }), "accepted");
    assert.deepEqual(object.metadata, { name: "p" });
  });
});
