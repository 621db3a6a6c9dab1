import "reflect-metadata";
import { webcrypto } from "node:crypto";
import * as x509 from "@peculiar/x509";
import { type KeyPair, serialNumber } from "./certificates.ts";
import { importSigningKey } from "./requests.ts";

interface RequestOptions {
  readonly commonName: string;
  readonly organizations?: readonly string[];
  readonly hosts?: readonly string[];
}

/** Creates a certificate request and its key (PEM). */
export async function makeRequest({
  commonName,
  organizations = [],
  hosts = [],
}: RequestOptions): Promise<{ readonly request: string; readonly privateKey: string }> {
  const signingAlgorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const keys = await webcrypto.subtle.generateKey(signingAlgorithm, true, ["sign", "verify"]);
  const names = hosts.map((host) => new x509.GeneralName("dns", host));
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name: [...organizations.map((name) => ({ O: [name] })), { CN: [commonName] }],
    keys,
    signingAlgorithm,
    extensions: names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(names)],
  });
  const der = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
  const privateKey = x509.PemConverter.encode(der, "PRIVATE KEY");
  return { request: request.toString("pem"), privateKey };
}

/** Issues an intermediate CA signed by `issuer`, valid for a day around now. */
export async function issueAuthority(issuer: KeyPair, commonName: string): Promise<KeyPair> {
  const named = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const keys = await webcrypto.subtle.generateKey(named, true, ["sign", "verify"]);
  const { key: signingKey, algorithm } = await importSigningKey(issuer.privateKey);
  const above = new x509.X509Certificate(issuer.certificate);
  const hourMs = 3_600_000;
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: [{ CN: [commonName] }],
    issuer: above.subjectName,
    notBefore: new Date(Date.now() - hourMs),
    notAfter: new Date(Date.now() + 23 * hourMs),
    signingKey,
    publicKey: keys.publicKey,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(above.publicKey),
    ],
  });
  const der = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
  const privateKey = x509.PemConverter.encode(der, "PRIVATE KEY");
  return { certificate: `${certificate.toString("pem")}\n`, privateKey };
}
