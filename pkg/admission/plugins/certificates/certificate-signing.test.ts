import assert from "node:assert/strict";
import { testAdmission } from "../../testing.ts";

describe("CertificateSigning", () => {
  it("needs the verb sign for a new certificate, not for other changes of the status", async () => {
    const test = await testAdmission("CertificateSigning");
    const request = (status: object) => ({
      metadata: { name: "r" },
      spec: { signerName: "example.com/s" },
      status,
    });
    const update = (status: object) =>
      test.admit("update certificates.k8s.io/v1/certificatesigningrequests//r/status", {
        object: request(status),
        old: request({}),
      });
    const refused =
      '403 certificatesigningrequests.certificates.k8s.io "r" is forbidden: ' +
      'user not permitted to sign requests with signerName "example.com/s"';
    assert.equal(await update({ conditions: [{ type: "Approved" }] }), "accepted");
    assert.equal(await update({ conditions: [{ type: "Failed" }] }), refused);
    assert.equal(await update({ certificate: "x" }), refused);
    test.permissions.add("sign signers/ example.com/s");
    assert.equal(await update({ certificate: "x" }), "accepted");
  });
});
