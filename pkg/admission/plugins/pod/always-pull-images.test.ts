import assert from "node:assert/strict";
import { testAdmission } from "../../testing.ts";

describe("AlwaysPullImages", () => {
  const pod = (...images: readonly string[]) => ({
    metadata: { name: "p" },
    spec: {
      containers: images.map((image) => ({ name: image, image, imagePullPolicy: "IfNotPresent" })),
    },
  });

  it("sets the policy of every container to Always", async () => {
    const test = await testAdmission("AlwaysPullImages");
    const object = pod("a", "b");
    assert.equal(await test.admit("create v1/pods/ns", { object }), "accepted");
    assert.deepEqual(
      object.spec.containers.map(({ imagePullPolicy }) => imagePullPolicy),
      ["Always", "Always"],
    );
  });

  it("does not change updates without a new image", async () => {
    const test = await testAdmission("AlwaysPullImages");
    const object = pod("a");
    assert.equal(await test.admit("update v1/pods/ns/p", { object, old: pod("a") }), "accepted");
    assert.equal(object.spec.containers[0]!.imagePullPolicy, "IfNotPresent");
  });

  it("refuses what a later plugin set to another policy", async () => {
    const test = await testAdmission("AlwaysPullImages");
    assert.throws(() => test.phase("validating", "create v1/pods/ns", { object: pod("a") }), {
      message:
        'pods "p" is forbidden: spec.containers[0].imagePullPolicy: ' +
        'Unsupported value: "IfNotPresent": supported values: "Always"',
    });
  });
});
