import assert from "node:assert/strict";
import { testAdmission } from "../../testing.ts";

describe("OwnerReferencesPermissionEnforcement", () => {
  const owned = (more?: object) => ({
    metadata: {
      name: "m",
      ownerReferences: more && [
        { apiVersion: "apps/v1", kind: "ReplicaSet", name: "r", uid: "u", ...more },
      ],
    },
  });
  const forbidden = '403 configmaps "m" is forbidden: ';

  it("needs permission to delete the object, and to update finalizers of the owner", async () => {
    const test = await testAdmission("OwnerReferencesPermissionEnforcement");
    const update = (more: object) =>
      test.admit("update v1/configmaps/ns/m", { object: owned(more), old: owned() });
    assert.equal(
      await update({}),
      `${forbidden}cannot set an ownerRef on a resource you can't delete: , <nil>`,
    );
    test.permissions.add("delete configmaps/ m");
    assert.equal(await update({}), "accepted");
    assert.equal(
      await update({ blockOwnerDeletion: true }),
      `${forbidden}cannot set blockOwnerDeletion if an ownerReference refers to a resource you ` +
        "can't set finalizers on: , <nil>",
    );
    test.permissions.add("update replicasets/finalizers r");
    assert.equal(await update({ blockOwnerDeletion: true }), "accepted");
  });

  it("has nothing to do where the owners stay the same", async () => {
    const test = await testAdmission("OwnerReferencesPermissionEnforcement");
    const write = { object: owned({}), old: owned({}) };
    assert.equal(test.phase("validating", "update v1/configmaps/ns/m", write), undefined);
  });
});
