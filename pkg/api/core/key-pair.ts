import { createPrivateKey, X509Certificate } from "node:crypto";

/** Types of the PEM blocks in a text, in order. */
function blockTypes(text: string): readonly string[] {
  return [...text.matchAll(/^-----BEGIN ([^-\r\n]+)-----[^]*?^-----END \1-----/gm)].map(
    ([, type = ""]) => type,
  );
}

const isKey = (type: string) => type === "PRIVATE KEY" || type.endsWith(" PRIVATE KEY");

/**
 * Error message of Go's crypto/tls for a PEM certificate and key; undefined if they form a pair.
 */
export function keyPairFault(certificate: string, key: string): string | undefined {
  return (
    certificateFault(blockTypes(certificate)) ??
    keyFault(blockTypes(key)) ??
    match(certificate, key)
  );
}

function certificateFault(types: readonly string[]): string | undefined {
  if (types.includes("CERTIFICATE")) return undefined;
  if (types.length === 0) return "tls: failed to find any PEM data in certificate input";
  if (types.length === 1 && types.every(isKey)) {
    return (
      "tls: failed to find certificate PEM data in certificate input, but did find a private " +
      "key; PEM inputs may have been switched"
    );
  }
  const skipped = `after skipping PEM blocks of the following types: [${types.join(" ")}]`;
  return `tls: failed to find "CERTIFICATE" PEM block in certificate input ${skipped}`;
}

function keyFault(types: readonly string[]): string | undefined {
  if (types.some(isKey)) return undefined;
  if (types.length === 0) return "tls: failed to find any PEM data in key input";
  if (types.length === 1 && types[0] === "CERTIFICATE") {
    return "tls: found a certificate rather than a key in the PEM for the private key";
  }
  const skipped = `after skipping PEM blocks of the following types: [${types.join(" ")}]`;
  return `tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input ${skipped}`;
}

function match(certificate: string, key: string): string | undefined {
  let parsed: X509Certificate;
  try {
    parsed = new X509Certificate(certificate);
  } catch {
    return "x509: malformed certificate";
  }
  try {
    const isMatch = parsed.checkPrivateKey(createPrivateKey(key));
    return isMatch ? undefined : "tls: private key does not match public key";
  } catch {
    return "tls: failed to parse private key";
  }
}
