import assert from "node:assert/strict";
import { testAdmission } from "../testing.ts";

describe("admin access to devices", () => {
  const path = "create resource.k8s.io/v1/resourceclaims";
  const claim = (adminAccess: boolean) => ({
    metadata: { name: "c" },
    spec: { devices: { requests: [{ name: "r", exactly: { adminAccess } }] } },
  });

  it("is allowed in labelled namespaces only, whichever plugins are on", async () => {
    const test = await testAdmission([]);
    const labels = { "resource.kubernetes.io/admin-access": "true" };
    await test.post("v1/namespaces", { metadata: { name: "admins", labels } });
    assert.equal(await test.admit(`${path}/admins`, { object: claim(true) }), "accepted");
    assert.equal(await test.admit(`${path}/ns`, { object: claim(false) }), "accepted");
    assert.equal(
      await test.admit(`${path}/ns`, { object: claim(true) }),
      '422 ResourceClaim.resource.k8s.io "c" is invalid: ' +
        "spec.devices.requests[0].adminAccess: Forbidden: admin access to devices requires the " +
        "`resource.kubernetes.io/admin-access: true` label on the containing namespace",
    );
  });
});
