import assert from "node:assert/strict";
import { testAdmission } from "../../testing.ts";

describe("CertificateSubjectRestriction", () => {
  const create = async (signerName: string) => {
    const test = await testAdmission("CertificateSubjectRestriction");
    const object = { metadata: { name: "r" }, spec: { signerName, request: "" } };
    return test.admit("create certificates.k8s.io/v1/certificatesigningrequests", { object });
  };

  it("refuses a request for an API client certificate that it cannot parse", async () => {
    assert.match(
      await create("kubernetes.io/kube-apiserver-client"),
      /^403 certificatesigningrequests\.certificates\.k8s\.io "r" is forbidden: failed to parse CSR: /,
    );
  });

  it("ignores requests for other signers", async () => {
    assert.equal(await create("example.com/s"), "accepted");
  });
});
