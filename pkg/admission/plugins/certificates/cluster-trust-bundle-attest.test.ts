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
});
