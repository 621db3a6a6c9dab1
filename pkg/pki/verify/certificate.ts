import { X509Certificate } from "node:crypto";
import { contentOf, type Der, dottedIdentifierOf, isExplicit, membersOf } from "../der.ts";
import { type Extensions, parseExtensions } from "./extensions.ts";

/** A certificate with the fields that verification reads. */
export interface Certificate extends Extensions {
  readonly x509: X509Certificate;
  /** DER of the complete certificate. */
  readonly raw: Buffer;
  /** Version of the encoding, 1 to 3. */
  readonly version: number;
  /** DER of the names, which are compared byte by byte. */
  readonly issuer: Der;
  readonly subject: Der;
  /** SubjectPublicKeyInfo. */
  readonly publicKeyInfo: Der;
  /** AlgorithmIdentifier of the signature. */
  readonly signatureAlgorithm: Der;
  /** Validity, in ms since 1970. */
  readonly notBefore: number;
  readonly notAfter: number;
}

/** Parses a certificate. @throws DerFault */
export function parseCertificate(x509: X509Certificate): Certificate {
  const { raw } = x509;
  const [signed, signatureAlgorithm] = membersOf(raw);
  const members = membersOf(signed!);
  const hasVersion = isExplicit(members[0]!, 0);
  const [, , issuer, , subject, publicKeyInfo, ...optional] = members.slice(hasVersion ? 1 : 0);
  const extensions = optional.find((member) => isExplicit(member, 3));
  return {
    x509,
    raw,
    version: hasVersion ? (contentOf(contentOf(members[0]!))[0] ?? 0) + 1 : 1,
    issuer: issuer!,
    subject: subject!,
    publicKeyInfo: publicKeyInfo!,
    signatureAlgorithm: signatureAlgorithm!,
    notBefore: Date.parse(x509.validFrom),
    notAfter: Date.parse(x509.validTo),
    ...parseExtensions(extensions === undefined ? [] : [contentOf(extensions)]),
  };
}

const pemBlock = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/** The certificates of a PEM text that can be parsed, as `CertPool.AppendCertsFromPEM`. */
export function parsableCertificates(pem: string): readonly Certificate[] {
  return (pem.match(pemBlock) ?? []).flatMap((block) => {
    try {
      return [parseCertificate(new X509Certificate(block))];
    } catch {
      // Skipped as in Go: a chain to such an authority is signed by an unknown one.
      return [];
    }
  });
}

/** The name that Go's errors give an authority: common name, organization or serial number. */
export function displayName({ x509 }: Certificate): string {
  const organization = attribute(x509, "O")[0] ?? "";
  return commonName(x509) || organization || `serial:${BigInt(`0x${x509.serialNumber}`)}`;
}

/** The last common name of the subject; "" = none. */
export function commonName(x509: X509Certificate): string {
  return attribute(x509, "CN").at(-1) ?? "";
}

function attribute(x509: X509Certificate, key: string): readonly string[] {
  const subject = (x509.toLegacyObject().subject ?? {}) as unknown as Readonly<
    Record<string, string | readonly string[]>
  >;
  return [subject[key] ?? []].flat();
}

/** Identifier and parameters of an AlgorithmIdentifier. */
export function algorithmOf(value: Der): { readonly id: string; readonly parameters?: Der } {
  const [id, parameters] = membersOf(value);
  const dotted = dottedIdentifierOf(id);
  return parameters === undefined ? { id: dotted } : { id: dotted, parameters };
}
