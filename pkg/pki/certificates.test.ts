import "reflect-metadata";
import assert from "node:assert/strict";
import { generateKeyPairSync, X509Certificate } from "node:crypto";
import * as x509 from "@peculiar/x509";
import { createAuthority, issueCertificate, type KeyPair, type LeafOptions } from "./index.ts";
import { issueAuthority } from "./testing.ts";

const dayMs = 86_400_000;
const now = Date.UTC(2026, 1, 3, 4, 5, 6);
const authority = () => createAuthority("keelson-ca", { validDays: 10, now });
const leaf = (from: KeyPair, changes: Partial<LeafOptions> = {}) =>
  issueCertificate(from, { commonName: "leaf", usage: "server", validDays: 1, now, ...changes });
const parsed = ({ certificate }: KeyPair) => new X509Certificate(certificate);

/** An authority whose key is not Keelson's usual one, made by another library. */
async function foreignAuthority(algorithm: object, generated: { privateKey: any; publicKey: any }) {
  const [privateDer, publicDer] = [
    generated.privateKey.export({ type: "pkcs8", format: "der" }),
    generated.publicKey.export({ type: "spki", format: "der" }),
  ];
  const { subtle } = globalThis.crypto;
  const keys = {
    privateKey: await subtle.importKey("pkcs8", privateDer, algorithm as any, true, ["sign"]),
    publicKey: await subtle.importKey("spki", publicDer, algorithm as any, true, ["verify"]),
  };
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: [{ O: ["Über"] }, { CN: ["a foreign authority"] }],
    notBefore: new Date(now - dayMs),
    notAfter: new Date(now + dayMs),
    keys,
    signingAlgorithm: algorithm as any,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.SubjectKeyIdentifierExtension("0102030405"),
    ],
  });
  const privateKey = generated.privateKey.export({ type: "pkcs8", format: "pem" });
  return { certificate: `${certificate.toString("pem")}\n`, privateKey } as KeyPair;
}

describe("certificates", () => {
  it("makes a self-signed authority", async () => {
    const made = await authority();
    const certificate = parsed(made);
    assert.equal(certificate.ca, true);
    assert.equal(certificate.subject, "CN=keelson-ca");
    assert.ok(certificate.checkIssued(certificate) && certificate.verify(certificate.publicKey));
    assert.equal(Date.parse(certificate.validTo), now + 10 * dayMs);
    assert.equal(Date.parse(certificate.validFrom), now - 5 * 60_000);
    const usage = new x509.X509Certificate(made.certificate).getExtension(x509.KeyUsagesExtension);
    const { keyCertSign, digitalSignature } = x509.KeyUsageFlags;
    assert.equal(usage?.usages, keyCertSign | digitalSignature);
    assert.match(
      made.certificate,
      /^-----BEGIN CERTIFICATE-----\n[^]+-----END CERTIFICATE-----\n$/,
    );
  });

  it("issues a certificate for names, addresses and groups", async () => {
    const above = await authority();
    const hosts = ["localhost", "127.0.0.1", "::1", "*.example.com", "2001:db8::ff"];
    const made = await leaf(above, { hosts, organizations: ["one", "zwei & Söhne"] });
    const certificate = parsed(made);
    assert.equal(certificate.ca, false);
    assert.equal(certificate.subject, "O=one\nO=zwei & Söhne\nCN=leaf");
    assert.ok(certificate.checkIssued(parsed(above)));
    assert.ok(certificate.verify(parsed(above).publicKey));
    for (const host of ["localhost", "a.example.com"]) assert.ok(certificate.checkHost(host), host);
    for (const ip of ["127.0.0.1", "::1", "2001:db8::ff"]) assert.ok(certificate.checkIP(ip), ip);
    assert.equal(certificate.checkHost("other"), undefined);
  });

  it("states the usage of a certificate", async () => {
    const above = await authority();
    const [server, client] = ["1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"];
    const wanted = { server: [server], client: [client], peer: [server, client] } as const;
    for (const usage of ["server", "client", "peer"] as const) {
      assert.deepEqual(parsed(await leaf(above, { usage })).keyUsage, wanted[usage]);
    }
  });

  it("signs with the keys of foreign authorities, and names theirs as they do", async () => {
    const ec = generateKeyPairSync("ec", { namedCurve: "P-384" });
    const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const authorities = [
      await foreignAuthority({ name: "ECDSA", namedCurve: "P-384", hash: "SHA-384" }, ec),
      await foreignAuthority({ name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" }, rsa),
      await issueAuthority(await authority(), "an intermediate authority"),
    ];
    for (const above of authorities) {
      const certificate = parsed(await leaf(above));
      assert.equal(certificate.issuer, parsed(above).subject);
      assert.ok(certificate.checkIssued(parsed(above)));
      assert.ok(certificate.verify(parsed(above).publicKey));
    }
  });

  it("refuses to sign with a key that signs no certificates", async () => {
    const { privateKey } = generateKeyPairSync("x25519");
    const text = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    await assert.rejects(leaf({ ...(await authority()), privateKey: text }), /x25519/);
  });

  it("writes years from 2050 on with four digits", async () => {
    const validDays = 40 * 365;
    const certificate = parsed(await createAuthority("keelson-ca", { validDays, now }));
    assert.equal(Date.parse(certificate.validTo), now + validDays * dayMs);
  });

  it("has a long subject", async () => {
    const organizations = Array.from({ length: 200 }, (_, index) => `group-${index}`);
    const made = await leaf(await authority(), { organizations });
    assert.equal(parsed(made).subject.split("\n").length, 201);
  });
});
