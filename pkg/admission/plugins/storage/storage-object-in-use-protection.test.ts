import assert from "node:assert/strict";
import { testAdmission } from "../../testing.ts";

describe("StorageObjectInUseProtection", () => {
  for (const [path, finalizer] of [
    ["v1/persistentvolumeclaims/ns", "kubernetes.io/pvc-protection"],
    ["v1/persistentvolumes", "kubernetes.io/pv-protection"],
    ["storage.k8s.io/v1/volumeattributesclasses", "kubernetes.io/vac-protection"],
  ] as const) {
    it(`adds ${finalizer} once`, async () => {
      const test = await testAdmission("StorageObjectInUseProtection");
      const object: any = { metadata: { name: "o", finalizers: ["x/y"] } };
      assert.equal(await test.admit(`create ${path}`, { object }), "accepted");
      await test.admit(`create ${path}`, { object });
      assert.deepEqual(object.metadata.finalizers, ["x/y", finalizer]);
    });
  }
});
