/** How long PodCertificateRequests are kept. */
import assert from "node:assert/strict";
import { generateKeyPairSync, sign } from "node:crypto";
import { type TestRegistry, testRegistry } from "../../registry/testing.ts";
import { type ControllerTest, startController } from "../testing.ts";
import { runPodCertificateRequestCleaner } from "./pod-certificate-request-cleaner.ts";

const requests = "certificates.k8s.io/v1alpha1/podcertificaterequests/ns";

describe("podcertificaterequest-cleaner-controller", () => {
  let test: TestRegistry;
  let run: ControllerTest;
  beforeEach(async () => {
    test = await testRegistry();
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    const podUID = "00000000-0000-4000-8000-000000000001";
    const base64 = (bytes: Buffer) => bytes.toString("base64");
    const spec = {
      signerName: "example.com/signer",
      podName: "p",
      podUID,
      serviceAccountName: "default",
      serviceAccountUID: podUID,
      nodeName: "n",
      nodeUID: podUID,
      maxExpirationSeconds: 86_400,
      pkixPublicKey: base64(publicKey.export({ type: "spki", format: "der" })),
      proofOfPossession: base64(sign(null, Buffer.from(podUID), privateKey)),
    };
    await test.post(requests, { metadata: { name: "r" }, spec });
    run = await startController(runPodCertificateRequestCleaner, { test, clock: test.clock });
  });
  afterEach(() => run.stop());

  it("deletes a request after a quarter of an hour", async () => {
    const began = test.clock.now();
    await run.until(async () => {
      if ((await test.names(requests)).length === 0) return true;
      test.clock.advance(60_000);
      return false;
    });
    const minutes = (test.clock.now() - began) / 60_000;
    assert.ok(minutes >= 15 && minutes < 25, `${minutes}`);
  });

  it("reports a failed delete, and retries in the next round", async () => {
    run.failNext("delete", "podcertificaterequests", 1);
    await run.until(async () => {
      test.clock.advance(60_000);
      return (await test.names(requests)).length === 0;
    });
    assert.match(run.reports.join(), /PodCertificateRequest ns\/r.*injected/);
  });
});
