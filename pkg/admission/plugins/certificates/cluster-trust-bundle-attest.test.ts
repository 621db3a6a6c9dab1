import assert from "node:assert/strict";
import { testAdmission } from "../../testing.ts";

describe("ClusterTrustBundleAttest", () => {
  it("needs the verb attest for the signer of a bundle", async () => {
    const test = await testAdmission("ClusterTrustBundleAttest");
    const create = (spec: object) =>
      test.admit("create certificates.k8s.io/v1beta1/clustertrustbundles", {
        object: { metadata: { name: "b" }, spec },
      });
    assert.equal(await create({}), "accepted");
    assert.equal(
      await create({ signerName: "example.com/s" }),
      '403 clustertrustbundles.certificates.k8s.io "b" is forbidden: ' +
        'user not permitted to attest for signerName "example.com/s"',
    );
    test.permissions.add("attest signers/ example.com/s");
    assert.equal(await create({ signerName: "example.com/s" }), "accepted");
  });

  const bundle = (metadata: object, trustBundle = "x") => ({
    metadata: { name: "b", ...metadata },
    spec: { signerName: "example.com/s", trustBundle },
  });
  for (const [name, object, verdict] of [
    ["labels", bundle({ labels: { a: "b" } }), "refused"],
    ["annotations", bundle({ annotations: { a: "b" } }), "refused"],
    ["the bundle", bundle({}, "y"), "refused"],
    ["finalizers", bundle({ finalizers: ["a/b"] }), "accepted"],
    ["owner references", bundle({ ownerReferences: [{ uid: "u" }] }), "accepted"],
    ["managedFields", bundle({ managedFields: [{ manager: "m" }] }), "accepted"],
    ["nothing", bundle({}), "accepted"],
  ] as const) {
    it(`without the verb, an update of ${name} is ${verdict}`, async () => {
      const test = await testAdmission("ClusterTrustBundleAttest");
      const path = "certificates.k8s.io/v1beta1/clustertrustbundles//b";
      const found = await test.admit(`update ${path}`, { object, old: bundle({}) });
      assert.equal(found.includes("user not permitted to attest") ? "refused" : found, verdict);
    });
  }
});
