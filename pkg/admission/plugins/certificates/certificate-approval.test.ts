import assert from "node:assert/strict";
import { testAdmission } from "../../testing.ts";

describe("CertificateApproval", () => {
  it("needs the verb approve for the signer, or for all signers of its domain", async () => {
    const test = await testAdmission("CertificateApproval");
    const old = { metadata: { name: "r" }, spec: { signerName: "example.com/s" }, status: {} };
    const approve = () =>
      test.admit("update certificates.k8s.io/v1/certificatesigningrequests//r/approval", {
        object: old,
        old,
      });
    assert.equal(
      await approve(),
      '403 certificatesigningrequests.certificates.k8s.io "r" is forbidden: ' +
        'user not permitted to approve requests with signerName "example.com/s"',
    );
    test.permissions.add("approve signers/ example.com/*");
    assert.equal(await approve(), "accepted");
  });
});
