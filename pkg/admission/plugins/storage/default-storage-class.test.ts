import assert from "node:assert/strict";
import { testAdmission } from "../../testing.ts";

describe("DefaultStorageClass", () => {
  const path = "v1/persistentvolumeclaims/ns";
  const start = async () => {
    const test = await testAdmission("DefaultStorageClass");
    const annotations = { "storageclass.kubernetes.io/is-default-class": "true" };
    for (const name of ["old", "new"]) {
      await test.post("storage.k8s.io/v1/storageclasses", {
        metadata: { name, annotations },
        provisioner: "example.com/p",
      });
      test.clock.advance(1000);
    }
    return test;
  };

  it("sets the newest default class", async () => {
    const test = await start();
    const object: any = { metadata: { name: "c" }, spec: {} };
    assert.equal(await test.admit(`create ${path}`, { object }), "accepted");
    assert.equal(object.spec.storageClassName, "new");
  });

  it("ignores claims with a class, including the empty one", async () => {
    const test = await start();
    const object = { metadata: { name: "c" }, spec: { storageClassName: "" } };
    assert.equal(test.phase("mutating", `create ${path}`, { object }), undefined);
    assert.equal(object.spec.storageClassName, "");
  });
});
