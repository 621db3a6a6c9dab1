import { contentOf, type Der, isExplicit, membersOf, smallIntegerOf } from "../der.ts";
import { algorithmOf, type Certificate } from "./certificate.ts";

type KeyType = "RSA" | "ECDSA" | "Ed25519";

interface Algorithm {
  readonly name: string;
  readonly key: KeyType;
}

const algorithms: Readonly<Record<string, Algorithm>> = {
  "1.2.840.113549.1.1.11": { name: "SHA256-RSA", key: "RSA" },
  "1.2.840.113549.1.1.12": { name: "SHA384-RSA", key: "RSA" },
  "1.2.840.113549.1.1.13": { name: "SHA512-RSA", key: "RSA" },
  "1.2.840.10045.4.3.2": { name: "ECDSA-SHA256", key: "ECDSA" },
  "1.2.840.10045.4.3.3": { name: "ECDSA-SHA384", key: "ECDSA" },
  "1.2.840.10045.4.3.4": { name: "ECDSA-SHA512", key: "ECDSA" },
  "1.3.101.112": { name: "Ed25519", key: "Ed25519" },
};
const pss = "1.2.840.113549.1.1.10";
/** Salt lengths of RSASSA-PSS by hash function; it must be that of the hash. */
const saltLengths: Readonly<Record<string, number>> = {
  "2.16.840.1.101.3.4.2.1": 32,
  "2.16.840.1.101.3.4.2.2": 48,
  "2.16.840.1.101.3.4.2.3": 64,
};
/** Algorithms with hash functions that are not collision-resistant. */
const insecure: Readonly<Record<string, string>> = {
  "1.2.840.113549.1.1.4": "MD5-RSA",
  "1.2.840.113549.1.1.5": "SHA1-RSA",
  "1.3.14.3.2.29": "SHA1-RSA",
  "1.2.840.10040.4.3": "DSA-SHA1",
  "1.2.840.10045.4.1": "ECDSA-SHA1",
};
const keyTypes: Readonly<Record<string, KeyType>> = { rsa: "RSA", ec: "ECDSA", ed25519: "Ed25519" };
const goTypes = { RSA: "*rsa.PublicKey", ECDSA: "*ecdsa.PublicKey", Ed25519: "ed25519.PublicKey" };
const failures = {
  RSA: "crypto/rsa: verification error",
  ECDSA: "x509: ECDSA verification failure",
  Ed25519: "x509: Ed25519 verification failure",
};
const curves = new Set(["secp224r1", "prime256v1", "secp384r1", "secp521r1"]);
/** Minimum size of RSA keys in bits. */
const minRsaBits = 1024;
const unsupported = "x509: cannot verify signature: algorithm unimplemented";

/**
 * Why `parent` is not the issuer of a certificate by its rights and its key, in the words of crypto/x509;
 * undefined = it is. Names are compared elsewhere.
 */
export function signatureFault(child: Certificate, parent: Certificate): string | undefined {
  const { basicConstraints, version, mayCertify } = parent;
  const isCa = basicConstraints?.isCa ?? version !== 3;
  if (!isCa || mayCertify === false) {
    return "x509: invalid signature: parent certificate cannot sign this kind of certificate";
  }
  const { publicKey } = parent.x509;
  const { namedCurve = "", modulusLength = minRsaBits } = publicKey.asymmetricKeyDetails ?? {};
  const type = keyTypes[publicKey.asymmetricKeyType ?? ""];
  if (type === undefined || (type === "ECDSA" && !curves.has(namedCurve))) return unsupported;
  const { id } = algorithmOf(child.signatureAlgorithm);
  const weak = insecure[id];
  if (weak !== undefined) return `x509: cannot verify signature: insecure algorithm ${weak}`;
  const algorithm = id === pss ? pssAlgorithm(child.signatureAlgorithm) : algorithms[id];
  if (algorithm === undefined) return unsupported;
  if (algorithm.key !== type) {
    return (
      `x509: signature algorithm specifies an ${algorithm.key} public key, ` +
      `but have public key of type ${goTypes[type]}`
    );
  }
  if (modulusLength < minRsaBits) {
    const document = "https://go.dev/pkg/crypto/rsa#hdr-Minimum_key_size";
    return `crypto/rsa: ${modulusLength}-bit keys are insecure (see ${document})`;
  }
  return child.x509.verify(publicKey) ? undefined : failures[type];
}

function pssAlgorithm(value: Der): Algorithm | undefined {
  const { parameters } = algorithmOf(value);
  if (parameters === undefined) return undefined;
  const members = membersOf(parameters);
  const [hash, salt] = [0, 2].map((tag) => members.find((member) => isExplicit(member, tag)));
  if (hash === undefined || salt === undefined) return undefined;
  const length = saltLengths[algorithmOf(contentOf(hash)).id];
  if (length === undefined || smallIntegerOf(contentOf(salt)) !== length) return undefined;
  return { name: "RSAPSS", key: "RSA" };
}
