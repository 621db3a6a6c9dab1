import assert from "node:assert/strict";
import { testAdmission } from "../../testing.ts";

describe("PersistentVolumeClaimResize", () => {
  const claim = (storage: string, storageClassName: string, phase = "Bound") => ({
    metadata: { name: "c" },
    spec: { storageClassName, resources: { requests: { storage } } },
    status: { phase },
  });

  it("lets bound claims grow whose class allows expansion, and refuses others", async () => {
    const test = await testAdmission("PersistentVolumeClaimResize");
    for (const allowVolumeExpansion of [true, false]) {
      await test.post("storage.k8s.io/v1/storageclasses", {
        metadata: { name: String(allowVolumeExpansion) },
        provisioner: "example.com/p",
        allowVolumeExpansion,
      });
    }
    const update = (object: object, old: object) =>
      test.admit("update v1/persistentvolumeclaims/ns/c", { object, old });
    const forbidden = '403 persistentvolumeclaims "c" is forbidden: ';
    assert.equal(await update(claim("2Gi", "true"), claim("1Gi", "true")), "accepted");
    assert.equal(await update(claim("1Gi", "false"), claim("2Gi", "false")), "accepted");
    assert.equal(
      await update(claim("2Gi", "false"), claim("1Gi", "false")),
      `${forbidden}only dynamically provisioned pvc can be resized and the storageclass that ` +
        "provisions the pvc must support resize",
    );
    assert.equal(
      await update(claim("2Gi", "true"), claim("1Gi", "true", "Pending")),
      `${forbidden}Only bound persistent volume claims can be expanded`,
    );
  });
});
