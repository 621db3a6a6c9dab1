import "reflect-metadata";
import { createPrivateKey, type KeyObject, webcrypto } from "node:crypto";
import * as x509 from "@peculiar/x509";

/** PEM texts of one certificate and its private key. */
export interface KeyPair {
  readonly certificate: string;
  readonly privateKey: string;
}

export interface LeafOptions {
  readonly commonName: string;
  /** Become organizations of the subject: the groups of a client certificate. */
  readonly organizations?: readonly string[];
  /** DNS names and IP addresses of a serving certificate. */
  readonly hosts?: readonly string[];
  /** A peer is both, as a member of an etcd cluster is. */
  readonly usage: "server" | "client" | "peer";
  readonly validDays: number;
  readonly now: number;
}

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const { serverAuth, clientAuth } = x509.ExtendedKeyUsage;
const usages = {
  server: [serverAuth],
  client: [clientAuth],
  peer: [serverAuth, clientAuth],
} as const;
const dayMs = 86_400_000;
/** Clocks of clients may be behind: certificates are valid a little before they are made. */
const backdateMs = 5 * 60_000;

/** A new self-signed certificate authority on P-256. */
export async function createAuthority(
  commonName: string,
  validity: { readonly validDays: number; readonly now: number },
): Promise<KeyPair> {
  const keys = await generateKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: [{ CN: [commonName] }],
    ...validPeriod(validity),
    keys,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.digitalSignature,
        true,
      ),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return pem(certificate, keys);
}

/** A certificate signed by `authority`, with a key of its own. */
export async function issueCertificate(authority: KeyPair, options: LeafOptions): Promise<KeyPair> {
  const keys = await generateKeys();
  const issuer = new x509.X509Certificate(authority.certificate);
  const signing = await importSigningKey(authority.privateKey);
  const organizations = options.organizations ?? [];
  const hosts = options.hosts ?? [];
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: [...organizations.map((name) => ({ O: [name] })), { CN: [options.commonName] }],
    issuer: issuer.subjectName,
    ...validPeriod(options),
    signingKey: signing.key,
    publicKey: keys.publicKey,
    signingAlgorithm: signing.algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension(usages[options.usage]),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
      ...(hosts.length > 0 ? [new x509.SubjectAlternativeNameExtension(hosts.map(hostName))] : []),
    ],
  });
  return pem(certificate, keys);
}

function generateKeys() {
  return webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
}

const curves: ReadonlyMap<string | undefined, readonly [namedCurve: string, hash: string]> =
  new Map([
    ["prime256v1", ["P-256", "SHA-256"]],
    ["secp384r1", ["P-384", "SHA-384"]],
    ["secp521r1", ["P-521", "SHA-512"]],
  ]);

/** The key of an authority (PEM), and how it signs. Throws an Error for keys of other kinds. */
export async function importSigningKey(pemText: string) {
  const privateKey = createPrivateKey(pemText);
  const der = privateKey.export({ type: "pkcs8", format: "der" });
  const algorithm = signingAlgorithmOf(privateKey);
  const key = await webcrypto.subtle.importKey("pkcs8", der, algorithm, false, ["sign"]);
  return { key, algorithm };
}

function signingAlgorithmOf({ asymmetricKeyType: type, asymmetricKeyDetails }: KeyObject) {
  if (type === "rsa") return { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
  const curve = type === "ec" ? curves.get(asymmetricKeyDetails?.namedCurve) : undefined;
  if (curve === undefined) throw new Error(`no authority signs with a key of the type ${type}`);
  const [namedCurve, hash] = curve;
  return { name: "ECDSA", namedCurve, hash };
}

async function pem(
  certificate: x509.X509Certificate,
  keys: webcrypto.CryptoKeyPair,
): Promise<KeyPair> {
  const der = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
  return {
    certificate: `${certificate.toString("pem")}\n`,
    privateKey: `${x509.PemConverter.encode(der, "PRIVATE KEY")}\n`,
  };
}

function validPeriod(options: { readonly validDays: number; readonly now: number }) {
  return {
    notBefore: new Date(options.now - backdateMs),
    notAfter: new Date(options.now + options.validDays * dayMs),
  };
}

/** 127 random bits, positive: RFC 5280 section 4.1.2.2 asks for a unique positive integer. */
export function serialNumber(): string {
  const random = webcrypto.getRandomValues(new Uint8Array(16));
  random[0] = (random[0] ?? 0) & 0x7f || 1;
  return Buffer.from(random).toString("hex");
}

function hostName(host: string): x509.GeneralName {
  const isAddress = /^[\d.]+$/.test(host) || host.includes(":");
  return new x509.GeneralName(isAddress ? "ip" : "dns", host);
}
