import { randomBytes, X509Certificate } from "node:crypto";
import { hostname, networkInterfaces } from "node:os";
import path from "node:path";
import { generateSigningKey } from "#authn";
import type { KeyPair, LeafOptions } from "#pki";
import { readFileIfExists, writeFileAtomically } from "../files/files.ts";
import { FileError } from "../files/file-reloader.ts";

/** Generated at the first start and reused later; PEM texts. */
export interface Credentials {
  readonly authority: KeyPair;
  readonly serving: KeyPair;
  readonly admin: KeyPair;
  /** Bearer token of the user `admin`, who is in `system:masters`. */
  readonly adminToken: string;
}

const authorityDays = 3650;
const leafDays = 365;
const renewBeforeMs = 30 * 86_400_000;

export interface CredentialOptions {
  /** Directory of the files; undefined = nothing is written. */
  readonly directory: string | undefined;
  readonly now: number;
  /** Names and addresses beside this machine's own that clients use for the server. */
  readonly hosts: readonly string[];
}

/** An authority, or a certificate that is issued by one. */
export interface PairOptions extends Pick<CredentialOptions, "directory" | "now"> {
  /** Of the files, without their endings. */
  readonly name: string;
}

/**
 * Reads the credentials of `directory`, and makes those that are missing, expiring or for other
 * hosts.
 */
export async function ensureCredentials(options: CredentialOptions): Promise<Credentials> {
  const { directory, now } = options;
  const authority = await ensureAuthority({ directory, now, name: "ca" });
  const hosts = [...new Set([...localHosts(), ...options.hosts])].sort();
  const leaf = (name: string, leafOptions: Omit<LeafOptions, "validDays" | "now">) =>
    ensureLeaf({ directory, now, name }, authority, leafOptions);
  return {
    authority,
    serving: await leaf("apiserver", { commonName: "kube-apiserver", hosts, usage: "server" }),
    admin: await leaf("admin", {
      commonName: "admin",
      organizations: ["system:masters"],
      usage: "client",
    }),
    adminToken: await ensureToken(options.directory),
  };
}

/**
 * Reads an authority, and makes it if it is missing or expiring. No two have the same name: of
 * those that a server trusts, TLS finds the issuer of simple certificates by name alone.
 */
export function ensureAuthority(options: PairOptions): Promise<KeyPair> {
  return ensurePair(options, async () => {
    const { createAuthority } = await import("#pki");
    const { name, now } = options;
    return createAuthority(`keelson-${name}-${randomBytes(4).toString("hex")}`, {
      validDays: authorityDays,
      now,
    });
  });
}

/** Reads a certificate, and makes it if it is missing, expiring or another one than is wanted. */
export function ensureLeaf(
  options: PairOptions,
  authority: KeyPair,
  leaf: Omit<LeafOptions, "validDays" | "now">,
): Promise<KeyPair> {
  return ensurePair(
    options,
    async () => {
      const { issueCertificate } = await import("#pki");
      return issueCertificate(authority, { ...leaf, validDays: leafDays, now: options.now });
    },
    (certificate) => isIssuedFor(certificate, authority, leaf.hosts ?? []),
  );
}

async function ensurePair(
  { directory, now, name }: PairOptions,
  make: () => Promise<KeyPair>,
  isUsable: (certificate: X509Certificate) => boolean = () => true,
): Promise<KeyPair> {
  if (directory === undefined) return make();
  const files = {
    certificate: path.join(directory, `${name}.crt`),
    privateKey: path.join(directory, `${name}.key`),
  };
  const certificate = await readFileIfExists(files.certificate);
  const privateKey = await readFileIfExists(files.privateKey);
  if (certificate !== undefined && privateKey !== undefined) {
    const parsed = readCertificate(files.certificate, certificate);
    // One from the future was made when the clock was wrong.
    const isValid = Date.parse(parsed.validFrom) <= now;
    const isFresh = Date.parse(parsed.validTo) - renewBeforeMs > now;
    if (isValid && isFresh && isUsable(parsed)) return { certificate, privateKey };
  }
  const made = await make();
  await writeFileAtomically(files.privateKey, made.privateKey, 0o600);
  await writeFileAtomically(files.certificate, made.certificate, 0o644);
  return made;
}

function readCertificate(file: string, pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (error) {
    const why = (error as Error).message;
    throw new FileError(`${file} is not a certificate: ${why}`, { cause: error });
  }
}

function isIssuedFor(
  certificate: X509Certificate,
  authority: KeyPair,
  hosts: readonly string[],
): boolean {
  const issuer = new X509Certificate(authority.certificate);
  if (!certificate.checkIssued(issuer) || !certificate.verify(issuer.publicKey)) return false;
  return hosts.every((host) => certificate.checkHost(host) ?? certificate.checkIP(host));
}

/**
 * Names and addresses under which this machine can be reached, with those of the service
 * `kubernetes`.
 */
export function localHosts(): readonly string[] {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return [
    "localhost",
    hostname(),
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "127.0.0.1",
    "::1",
    ...addresses.filter(({ scopeid }) => !scopeid).map(({ address }) => address),
  ];
}

/**
 * The private key of service account tokens, as PEM text. Every verifier knows RS256; keys of ES256
 * are made in no time.
 */
export async function ensureSigningKey(
  directory: string | undefined,
  algorithm: "ES256" | "RS256",
): Promise<string> {
  return ensureText(directory, "sa.key", () => generateSigningKey(algorithm));
}

async function ensureToken(directory: string | undefined): Promise<string> {
  const text = await ensureText(directory, "admin.token", newToken);
  return text.trim();
}

function newToken(): string {
  return `${randomBytes(24).toString("base64url")}\n`;
}

/** The text of a secret file, which is made unless it is there. */
async function ensureText(
  directory: string | undefined,
  name: string,
  make: () => string | Promise<string>,
): Promise<string> {
  if (directory === undefined) return make();
  const file = path.join(directory, name);
  const known = await readFileIfExists(file);
  if (known !== undefined && known.trim() !== "") return known;
  const made = await make();
  await writeFileAtomically(file, made, 0o600);
  return made;
}
