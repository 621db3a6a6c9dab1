/** Certificate signing requests (RFC 2986): decoding, and verification of their signature. */
import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { type Element, readElement, readElements, tags } from "./der.ts";
import { pemBlocks } from "./pem.ts";

export interface CertificateRequest {
  /** Organizations of the subject: the groups of the certificate. */
  readonly organizations: readonly string[];
  /** Last common name of the subject, as in Go; "" = none. */
  readonly commonName: string;
  /** Error message of signature verification; undefined if the signature is valid. */
  readonly signatureFault: string | undefined;
}

const requestPemType = "CERTIFICATE REQUEST";

/** Object identifiers as hexadecimal DER. */
const organizationOid = "55040a";
const commonNameOid = "550403";

const digests: Readonly<Record<string, string>> = {
  "2a864886f70d010105": "sha1",
  "2a864886f70d01010b": "sha256",
  "2a864886f70d01010c": "sha384",
  "2a864886f70d01010d": "sha512",
  "2a8648ce3d040302": "sha256",
  "2a8648ce3d040303": "sha384",
  "2a8648ce3d040304": "sha512",
};

/** Decodes a PEM certificate signing request; returns an error message if it is invalid. */
export function parseRequest(text: string): CertificateRequest | { readonly fault: string } {
  const block = pemBlocks(text)[0];
  if (block?.type !== requestPemType) return { fault: `PEM block type must be ${requestPemType}` };
  const outer = readElement(block.bytes);
  const parts = outer && outer.tag === tags.sequence ? readElements(outer.content) : undefined;
  const [info, algorithm, signature] = parts ?? [];
  if (info === undefined || algorithm === undefined || signature === undefined) {
    return { fault: "asn1: syntax error: data truncated" };
  }
  if (outer?.whole.length !== block.bytes.length)
    return { fault: "asn1: syntax error: trailing data" };
  const [, subject, publicKey] = readElements(info.content) ?? [];
  if (subject === undefined || publicKey === undefined) {
    return { fault: "asn1: structure error: malformed certificate request" };
  }
  const signatureFault = faultOf({ info, algorithm, signature, publicKey });
  const organizations = namesOf(subject, organizationOid);
  const commonName = namesOf(subject, commonNameOid).at(-1) ?? "";
  return { organizations, commonName, signatureFault };
}

interface Signed {
  readonly info: Element;
  readonly algorithm: Element;
  readonly signature: Element;
  readonly publicKey: Element;
}

function faultOf({ info, algorithm, signature, publicKey }: Signed): string | undefined {
  const id = hex(readElement(algorithm.content)?.content);
  // The first byte of a bit string is the number of bits that are not used.
  const bits = signature.content.subarray(1);
  try {
    const der = Buffer.from(publicKey.whole);
    const key = createPublicKey({ key: der, format: "der", type: "spki" });
    const digest = key.asymmetricKeyType === "ed25519" ? null : (digests[id] ?? "sha256");
    return verify(digest, info.whole, key, bits) ? undefined : mismatch(key);
  } catch {
    return "x509: cannot verify signature: algorithm unimplemented";
  }
}

function mismatch({ asymmetricKeyType: type }: KeyObject): string {
  if (type === "ec") return "x509: ECDSA verification failure";
  return type === "ed25519"
    ? "x509: Ed25519 verification failure"
    : "crypto/rsa: verification error";
}

/** Values of an attribute type in a subject, which is a sequence of sets of type-value pairs. */
function namesOf(subject: Element, wanted: string): readonly string[] {
  const sets = readElements(subject.content) ?? [];
  return sets
    .flatMap(({ content }) => readElements(content) ?? [])
    .flatMap(({ content }) => {
      const [id, value] = readElements(content) ?? [];
      if (id === undefined || value === undefined || hex(id.content) !== wanted) return [];
      return [Buffer.from(value.content).toString("utf8")];
    });
}

function hex(bytes: Uint8Array | undefined): string {
  return Buffer.from(bytes ?? []).toString("hex");
}
