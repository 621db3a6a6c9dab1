import { createPrivateKey, webcrypto } from "node:crypto";
import "reflect-metadata";
import * as x509 from "@peculiar/x509";
import { type KeyPair, serialNumber, signingAlgorithmOf } from "./certificates.ts";

/** Subject of a certificate request. */
export interface RequestedNames {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly alternativeNames: readonly { readonly type: string; readonly value: string }[];
}

/** Reads the names of a certificate request (PEM). @throws Error if it is invalid */
export function readRequest(text: string): RequestedNames {
  const { subjectName, alternativeNames } = parse(text);
  return {
    commonName: subjectName.getField("CN").at(-1) ?? "",
    organizations: subjectName.getField("O"),
    alternativeNames: (alternativeNames?.names.items ?? []).map(({ type, value }) => ({
      type,
      value,
    })),
  };
}

export interface SigningOptions {
  /** Certificate request (PEM); the certificate gets its subject, key and alternative names. */
  readonly request: string;
  /** Usages of a CertificateSigningRequest: `digital signature`, `client auth`, … */
  readonly usages: readonly string[];
  /** In milliseconds since 1970; limited by the validity of the CA. */
  readonly notBefore: number;
  readonly notAfter: number;
}

/** Signs a request; returns the certificate (PEM). Ignores unknown usages. */
export async function signRequest(authority: KeyPair, options: SigningOptions): Promise<string> {
  const { KeyUsageFlags, ExtendedKeyUsage } = x509;
  const keyUsages = new Map([
    ["digital signature", KeyUsageFlags.digitalSignature],
    ["key encipherment", KeyUsageFlags.keyEncipherment],
  ]);
  const extendedUsages = new Map<string, string>([
    ["client auth", ExtendedKeyUsage.clientAuth],
    ["server auth", ExtendedKeyUsage.serverAuth],
  ]);
  const { subjectName, publicKey, alternativeNames } = parse(options.request);
  const issuer = new x509.X509Certificate(authority.certificate);
  const { key: signingKey, algorithm: signingAlgorithm } = await importSigningKey(
    authority.privateKey,
  );
  const flags = options.usages.reduce((all, usage) => all | (keyUsages.get(usage) ?? 0), 0);
  const extended = options.usages.flatMap((usage) => extendedUsages.get(usage) ?? []);
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: subjectName,
    issuer: issuer.subjectName,
    notBefore: new Date(options.notBefore),
    notAfter: new Date(Math.min(options.notAfter, issuer.notAfter.getTime())),
    signingKey,
    publicKey,
    signingAlgorithm,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      // No extension without usages: an empty one is invalid (RFC 5280, 4.2.1.3).
      ...(flags === 0 ? [] : [new x509.KeyUsagesExtension(flags, true)]),
      ...(extended.length === 0 ? [] : [new x509.ExtendedKeyUsageExtension(extended)]),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
      ...(alternativeNames === undefined ? [] : [alternativeNames]),
    ],
  });
  return `${certificate.toString("pem")}\n`;
}

/** Imports a CA's key (PEM) and its algorithm. @throws Error for unsupported key types */
export async function importSigningKey(pemText: string) {
  const privateKey = createPrivateKey(pemText);
  const der = privateKey.export({ type: "pkcs8", format: "der" });
  const algorithm = signingAlgorithmOf(privateKey);
  const key = await webcrypto.subtle.importKey("pkcs8", der, algorithm, false, ["sign"]);
  return { key, algorithm };
}

function parse(text: string) {
  const request = new x509.Pkcs10CertificateRequest(text);
  const alternativeNames = request.extensions.find(
    (each) => each instanceof x509.SubjectAlternativeNameExtension,
  );
  return { subjectName: request.subjectName, publicKey: request.publicKey, alternativeNames };
}
