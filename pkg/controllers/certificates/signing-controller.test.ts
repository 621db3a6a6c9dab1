import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { createAuthority, type KeyPair } from "#pki";
import { makeRequest } from "../../pki/testing.ts";
import { type ControllerTest, startController } from "../testing.ts";
import { runSigningController } from "./signing-controller.ts";

const group = "certificates.k8s.io/v1/certificatesigningrequests";
const dayMs = 86_400_000;

describe("certificatesigningrequest-signing-controller", () => {
  let run: ControllerTest;
  let authority: KeyPair;
  before(async () => {
    authority = await createAuthority("signer", { validDays: 30, now: Date.now() });
  });
  beforeEach(async () => {
    const settings = { authority, durationMs: dayMs };
    run = await startController((context) => runSigningController(context, settings));
  });
  afterEach(() => run.stop());

  async function post(name: string, more: object = {}): Promise<void> {
    const { request } = await makeRequest({ commonName: "alice", organizations: ["devs"] });
    const spec = {
      request: Buffer.from(request).toString("base64"),
      signerName: "kubernetes.io/kube-apiserver-client",
      usages: ["digital signature", "client auth"],
      ...more,
    };
    await run.test.post(group, { metadata: { name }, spec });
  }
  const decide = (name: string, type: string) => {
    const conditions = [{ type, status: "True", reason: "Test" }];
    return run.test.patch(`${group}//${name}/approval`, { status: { conditions } });
  };
  const statusOf = async (name: string) => (await run.test.get(`${group}//${name}`)).object.status;
  const signed = async (name: string): Promise<X509Certificate> => {
    const encoded = await run.until(async () => (await statusOf(name))?.certificate);
    return new X509Certificate(Buffer.from(encoded, "base64"));
  };

  it("signs approved requests only, for the requested subject", async () => {
    await post("waiting");
    await post("denied");
    await decide("denied", "Denied");
    await post("approved");
    await decide("approved", "Approved");
    const certificate = await signed("approved");
    assert.equal(certificate.subject, "O=devs\nCN=alice");
    assert.ok(certificate.verify(new X509Certificate(authority.certificate).publicKey));
    assert.equal((await statusOf("waiting"))?.certificate, undefined);
    assert.equal((await statusOf("denied"))?.certificate, undefined);
  });

  it("limits the validity to the setting, and grants less if less is requested", async () => {
    const hours = async (name: string, expirationSeconds: number) => {
      await post(name, { expirationSeconds });
      await decide(name, "Approved");
      return (Date.parse((await signed(name)).validTo) - Date.now()) / 3_600_000;
    };
    assert.ok(Math.abs((await hours("long", 10 * 86_400)) - 24) < 0.2);
    assert.ok(Math.abs((await hours("short", 3600)) - 1) < 0.2);
  });

  it("fails a request with usages that the signer does not allow", async () => {
    await post("server", { usages: ["server auth"] });
    await decide("server", "Approved");
    const failed = await run.until(async () =>
      (await statusOf("server")).conditions.find(({ type }: { type: string }) => type === "Failed"),
    );
    assert.equal(failed.reason, "SignerValidationFailure");
    assert.match(failed.message, /server auth/);
  });

  it("ignores requests for other signers", async () => {
    await post("other", { signerName: "example.com/signer" });
    await decide("other", "Approved");
    await post("own");
    await decide("own", "Approved");
    await signed("own");
    assert.equal((await statusOf("other")).certificate, undefined);
  });

  it("retries when the status cannot be written", async () => {
    await post("a");
    run.failNext("update", "certificatesigningrequests", 2);
    await decide("a", "Approved");
    await signed("a");
    assert.equal(run.calls("update", "certificatesigningrequests"), 3);
  });
});
