import "reflect-metadata";
import { webcrypto } from "node:crypto";
import * as x509 from "@peculiar/x509";
import { type KeyPair, serialNumber } from "./certificates.ts";
import { importSigningKey } from "./x509-requests.ts";

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

/** A certificate of a test's chain; it is an authority unless it has names or a usage. */
export interface ChainPart {
  /** Common name; "" = an empty subject. */
  readonly subject: string;
  /** DNS names and addresses. */
  readonly names?: readonly string[];
  readonly usage?: "server" | "client";
  /** End of the validity in ms from now; default one hour. */
  readonly until?: number;
  readonly maxPathLength?: number;
  /** DNS names that the authority may certify. */
  readonly permitted?: readonly string[];
}

/** Issues a chain without key identifiers; each certificate is signed by the one before it. */
export async function makeChain(parts: readonly ChainPart[]): Promise<readonly KeyPair[]> {
  const signingAlgorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const chain: KeyPair[] = [];
  let issuer: { readonly name: string; readonly key: webcrypto.CryptoKey } | undefined;
  for (const part of parts) {
    const keys = await webcrypto.subtle.generateKey(signingAlgorithm, true, ["sign", "verify"]);
    const name = part.subject === "" ? "" : `CN=${part.subject}`;
    const certificate = await x509.X509CertificateGenerator.create({
      serialNumber: serialNumber(),
      subject: name,
      issuer: issuer?.name ?? name,
      notBefore: new Date(Date.now() - 7 * 86_400_000),
      notAfter: new Date(Date.now() + (part.until ?? 3_600_000)),
      signingKey: issuer?.key ?? keys.privateKey,
      publicKey: keys.publicKey,
      signingAlgorithm,
      extensions: extensionsOf(part),
    });
    const der = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
    const privateKey = x509.PemConverter.encode(der, "PRIVATE KEY");
    chain.push({ certificate: `${certificate.toString("pem")}\n`, privateKey });
    issuer = { name, key: keys.privateKey };
  }
  return chain;
}

function extensionsOf({ names, usage, maxPathLength, permitted = [] }: ChainPart) {
  const isAuthority = names === undefined && usage === undefined;
  const { serverAuth, clientAuth } = x509.ExtendedKeyUsage;
  const alternatives = (names ?? []).map(
    (name) => new x509.GeneralName(/^[\d.]+$/.test(name) ? "ip" : "dns", name),
  );
  const subtrees = permitted.map((name) => {
    const bytes = Buffer.from(name);
    const base = [0x82, bytes.length, ...bytes];
    return [0x30, base.length, ...base];
  });
  const list = [0xa0, subtrees.flat().length, ...subtrees.flat()];
  const constraints = Buffer.from([0x30, list.length, ...list]);
  return [
    new x509.BasicConstraintsExtension(isAuthority, maxPathLength, true),
    ...(usage === undefined
      ? []
      : [new x509.ExtendedKeyUsageExtension([usage === "server" ? serverAuth : clientAuth])]),
    ...(alternatives.length > 0 ? [new x509.SubjectAlternativeNameExtension(alternatives)] : []),
    ...(permitted.length > 0 ? [new x509.Extension("2.5.29.30", true, constraints)] : []),
  ];
}
