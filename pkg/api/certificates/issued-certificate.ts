import { X509Certificate } from "node:crypto";
import { pemBlocks } from "./pem.ts";

/** Error message unless the text consists of one or more PEM certificates; undefined if it does. */
export function certificateFault(text: string): string | undefined {
  const blocks = pemBlocks(text);
  if (blocks.length === 0) return "must contain at least one CERTIFICATE PEM block";
  for (const { type, hasHeaders, text: block } of blocks) {
    if (type !== "CERTIFICATE") {
      return `only CERTIFICATE PEM blocks are allowed, found ${JSON.stringify(type)}`;
    }
    if (hasHeaders) return "no PEM block headers are permitted";
    if (parseCertificate(block) === undefined) return "x509: malformed certificate";
  }
  return undefined;
}

/** Parses a certificate; undefined if malformed. */
export function parseCertificate(text: string): X509Certificate | undefined {
  try {
    return new X509Certificate(text);
  } catch {
    return undefined;
  }
}
