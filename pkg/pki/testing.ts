import "reflect-metadata";
import { webcrypto } from "node:crypto";
import * as x509 from "@peculiar/x509";

interface RequestOptions {
  readonly commonName: string;
  readonly organizations?: readonly string[];
  readonly hosts?: readonly string[];
}

/** A certificate request and its key (PEM), as clients make them. */
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
