import {
  createHash,
  createPrivateKey,
  generateKeyPair,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from "node:crypto";
import { promisify } from "node:util";
import { parseIp } from "#base";
import {
  bitString,
  boolean,
  contentOf,
  type Der,
  explicit,
  implicit,
  isExplicit,
  membersOf,
  namedBits,
  nullValue,
  objectIdentifier,
  octetString,
  positiveInteger,
  sequence,
  setOf,
  time,
  utf8String,
} from "./der.ts";

/** PEM texts of one certificate and its private key. */
export interface KeyPair {
  readonly certificate: string;
  readonly privateKey: string;
}

export interface LeafOptions {
  readonly commonName: string;
  /** Organizations of the subject: groups of a client certificate. */
  readonly organizations?: readonly string[];
  /** DNS names and IP addresses of a serving certificate. */
  readonly hosts?: readonly string[];
  /** `peer` = server and client, e.g. a member of an etcd cluster. */
  readonly usage: "server" | "client" | "peer";
  readonly validDays: number;
  readonly now: number;
}

/** Object identifiers of RFC 5280, 5480, 5758 and 4055. */
const ids = {
  commonName: "2.5.4.3",
  organization: "2.5.4.10",
  subjectKeyIdentifier: "2.5.29.14",
  keyUsage: "2.5.29.15",
  subjectAlternativeName: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  authorityKeyIdentifier: "2.5.29.35",
  extendedKeyUsage: "2.5.29.37",
  serverAuth: "1.3.6.1.5.5.7.3.1",
  clientAuth: "1.3.6.1.5.5.7.3.2",
  sha256WithRsa: "1.2.840.113549.1.1.11",
  ecdsaWithSha256: "1.2.840.10045.4.3.2",
  ecdsaWithSha384: "1.2.840.10045.4.3.3",
  ecdsaWithSha512: "1.2.840.10045.4.3.4",
} as const;

/** Bits of the extension key usage. */
const digitalSignature = 0;
const certificateSigning = 5;

const usages = {
  server: [ids.serverAuth],
  client: [ids.clientAuth],
  peer: [ids.serverAuth, ids.clientAuth],
} as const;
const dayMs = 86_400_000;
/** notBefore is this many ms in the past, to allow for clock skew. */
const backdateMs = 5 * 60_000;
/** X.509 version 3, encoded as 2. */
const version3 = Buffer.from([2]);

const generateKeys = promisify(generateKeyPair);

/** Creates a self-signed CA with a P-256 key. */
export async function createAuthority(
  commonName: string,
  validity: { readonly validDays: number; readonly now: number },
): Promise<KeyPair> {
  const { publicKey, privateKey } = await generateKeys("ec", { namedCurve: "P-256" });
  const subject = nameOf({ commonName });
  const publicKeyInfo = publicKey.export({ type: "spki", format: "der" });
  const certificate = signedCertificate(privateKey, {
    issuer: subject,
    subject,
    publicKeyInfo,
    ...validPeriod(validity),
    extensions: [
      extension(ids.basicConstraints, sequence(boolean(true)), { critical: true }),
      extension(ids.keyUsage, namedBits([digitalSignature, certificateSigning]), {
        critical: true,
      }),
      extension(ids.subjectKeyIdentifier, octetString(keyIdentifier(publicKeyInfo))),
    ],
  });
  return pemTexts(certificate, privateKey);
}

/** Issues a certificate signed by `authority`, with a new key. */
export async function issueCertificate(authority: KeyPair, options: LeafOptions): Promise<KeyPair> {
  const { publicKey, privateKey } = await generateKeys("ec", { namedCurve: "P-256" });
  const { hosts = [], usage } = options;
  const issuer = issuerOf(authority.certificate);
  const certificate = signedCertificate(createPrivateKey(authority.privateKey), {
    issuer: issuer.subject,
    subject: nameOf(options),
    publicKeyInfo: publicKey.export({ type: "spki", format: "der" }),
    ...validPeriod(options),
    extensions: [
      extension(ids.basicConstraints, sequence(), { critical: true }),
      extension(ids.keyUsage, namedBits([digitalSignature]), { critical: true }),
      extension(ids.extendedKeyUsage, sequence(...usages[usage].map(objectIdentifier))),
      extension(ids.authorityKeyIdentifier, sequence(implicit(0, issuer.keyIdentifier))),
      ...(hosts.length > 0
        ? [extension(ids.subjectAlternativeName, sequence(...hosts.map(generalName)))]
        : []),
    ],
  });
  return pemTexts(certificate, privateKey);
}

interface CertificateContent {
  readonly issuer: Der;
  readonly subject: Der;
  /** SubjectPublicKeyInfo. */
  readonly publicKeyInfo: Der;
  /** In milliseconds since 1970. */
  readonly notBefore: number;
  readonly notAfter: number;
  readonly extensions: readonly Der[];
}

function signedCertificate(signingKey: KeyObject, content: CertificateContent): Der {
  const { identifier, hash } = signingAlgorithmOf(signingKey);
  const signed = sequence(
    explicit(0, positiveInteger(version3)),
    positiveInteger(Buffer.from(serialNumber(), "hex")),
    identifier,
    content.issuer,
    sequence(time(content.notBefore), time(content.notAfter)),
    content.subject,
    content.publicKeyInfo,
    explicit(3, sequence(...content.extensions)),
  );
  return sequence(signed, identifier, bitString(sign(hash, signed, signingKey)));
}

function extension(id: string, value: Der, { critical = false } = {}): Der {
  const members = critical ? [boolean(true)] : [];
  return sequence(objectIdentifier(id), ...members, octetString(value));
}

/** Distinguished name: organizations, then the common name. */
function nameOf({
  organizations = [],
  commonName,
}: Pick<LeafOptions, "commonName" | "organizations">): Der {
  const attribute = (id: string, text: string) =>
    setOf(sequence(objectIdentifier(id), utf8String(text)));
  return sequence(
    ...organizations.map((name) => attribute(ids.organization, name)),
    attribute(ids.commonName, commonName),
  );
}

function generalName(host: string): Der {
  const address = parseIp(host);
  return address === undefined ? implicit(2, Buffer.from(host)) : implicit(7, Buffer.from(address));
}

interface Issuer {
  /** DER-encoded subject. */
  readonly subject: Der;
  readonly keyIdentifier: Uint8Array;
}

function issuerOf(certificate: string): Issuer {
  const { raw } = new X509Certificate(certificate);
  const [signed = raw] = membersOf(raw);
  // A version 1 certificate has neither a version field nor extensions.
  const members = membersOf(signed).filter((member) => !isExplicit(member, 0));
  const [_serialNumber, _algorithm, _issuer, _validity, subject = raw, publicKeyInfo = raw] =
    members;
  const extensions = members.find((member) => isExplicit(member, 3));
  const own = extensions && subjectKeyIdentifier(extensions);
  return { subject, keyIdentifier: own ?? keyIdentifier(publicKeyInfo) };
}

/** subjectKeyIdentifier of a CA, for the authorityKeyIdentifier (RFC 5280, 4.2.1.1). */
function subjectKeyIdentifier(extensions: Der): Uint8Array | undefined {
  const wanted = objectIdentifier(ids.subjectKeyIdentifier);
  const [list = extensions] = membersOf(extensions);
  const found = membersOf(list)
    .map(membersOf)
    .find(([id]) => id?.equals(wanted));
  const value = found?.at(-1);
  return value && contentOf(contentOf(value));
}

/** SHA-1 of the public key: method 1 of RFC 5280, section 4.2.1.2. */
function keyIdentifier(publicKeyInfo: Der): Uint8Array {
  const key = membersOf(publicKeyInfo).at(-1) ?? publicKeyInfo;
  // The first byte of a bit string counts unused bits.
  return createHash("sha1").update(contentOf(key).subarray(1)).digest();
}

export interface SigningAlgorithm {
  /** WebCrypto algorithm of the key. */
  readonly name: "ECDSA" | "RSASSA-PKCS1-v1_5";
  readonly namedCurve?: string;
  readonly hash: string;
  /** AlgorithmIdentifier. */
  readonly identifier: Der;
}

function ecdsa(namedCurve: string, hash: string, id: string): SigningAlgorithm {
  return { name: "ECDSA", namedCurve, hash, identifier: sequence(objectIdentifier(id)) };
}

/** Signing algorithms by Node.js' curve name. */
const curves: ReadonlyMap<string | undefined, SigningAlgorithm> = new Map([
  ["prime256v1", ecdsa("P-256", "SHA-256", ids.ecdsaWithSha256)],
  ["secp384r1", ecdsa("P-384", "SHA-384", ids.ecdsaWithSha384)],
  ["secp521r1", ecdsa("P-521", "SHA-512", ids.ecdsaWithSha512)],
]);

const rsa: SigningAlgorithm = {
  name: "RSASSA-PKCS1-v1_5",
  hash: "SHA-256",
  identifier: sequence(objectIdentifier(ids.sha256WithRsa), nullValue()),
};

/** Signing algorithm of a key. @throws Error for unsupported key types */
export function signingAlgorithmOf(key: KeyObject): SigningAlgorithm {
  const { asymmetricKeyType: type, asymmetricKeyDetails } = key;
  const algorithm = type === "ec" ? curves.get(asymmetricKeyDetails?.namedCurve) : undefined;
  const found = type === "rsa" ? rsa : algorithm;
  if (found === undefined) throw new Error(`no authority signs with a key of the type ${type}`);
  return found;
}

function pemTexts(certificate: Der, privateKey: KeyObject): KeyPair {
  return {
    certificate: new X509Certificate(certificate).toString(),
    privateKey: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

function validPeriod(options: { readonly validDays: number; readonly now: number }) {
  return {
    notBefore: options.now - backdateMs,
    notAfter: options.now + options.validDays * dayMs,
  };
}

/** Random serial number of 127 bits: RFC 5280 section 4.1.2.2 requires a unique positive integer. */
export function serialNumber(): string {
  const random = randomBytes(16);
  random[0] = (random[0] ?? 0) & 0x7f || 1;
  return random.toString("hex");
}
