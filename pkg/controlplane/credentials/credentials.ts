import { createPrivateKey, randomBytes, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { hostname, networkInterfaces } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { generateSigningKey } from "#authn";
import { createAuthority, issueCertificate, type KeyPair, type LeafOptions } from "#pki";
import { readFileIfExists, writeFileAtomically } from "../files/files.ts";
import { FileError, type TextSource } from "../files/file-reloader.ts";

/** Credentials that the server generated (PEM). */
export interface GeneratedCredentials {
  readonly authority: KeyPair;
  /** Client certificate of the user `admin`. */
  readonly admin: KeyPair;
}

export interface Credentials {
  /** Undefined if the user supplied all that the server requires. */
  readonly generated: GeneratedCredentials | undefined;
  readonly serving: ServingSource;
  /** CA certificates by which clients verify the server (PEM). */
  readonly servingCa: string;
  /** Bearer token of the user `admin`, who is in `system:masters`. */
  readonly adminToken: string;
}

const authorityDays = 3650;
const leafDays = 365;
const dayMs = 86_400_000;
/** Time in ms by which the validity of generated certificates starts in the past. */
const backdateMs = 5 * 60_000;
const renewBeforeMs = 30 * dayMs;

export interface CredentialOptions {
  /** Directory of the files; undefined = nothing is written. */
  readonly directory: string | undefined;
  readonly now: number;
  /** Names and addresses by which clients reach the server, in addition to those of this host. */
  readonly hosts: readonly string[];
  /** The user's serving certificate; undefined = that of `directory`, or a generated one. */
  readonly serving: ServingSource | undefined;
  /** Whether the server needs a generated CA and administrator. */
  readonly needsAuthority: boolean;
}

/** Options of a generated CA, or of a certificate that a CA issues. */
export interface PairOptions extends Pick<CredentialOptions, "directory" | "now"> {
  /** Name of the files without extension. */
  readonly name: string;
  /**
   * How to handle unusable files of the user: `refuse` fails, `ignore` keeps a generated pair in
   * memory instead. Default: refuse.
   */
  readonly onSupplied?: "refuse" | "ignore";
}

/** Certificate and key to serve with, PEM. */
export interface ServingSource {
  readonly certificate: TextSource;
  readonly privateKey: TextSource;
}

/**
 * Reads the credentials of `directory`, and generates those that are missing. Generated ones are
 * renewed if they expire or are for other hosts; files of the user are never overwritten.
 */
export async function ensureCredentials(options: CredentialOptions): Promise<Credentials> {
  const { directory, now } = options;
  const supplied = options.serving ?? (await suppliedServing(directory));
  const files = { directory, now };
  if (supplied !== undefined && !options.needsAuthority) {
    const adminToken = await ensureToken(undefined);
    const servingCa = textOf(supplied.certificate);
    return { generated: undefined, serving: supplied, servingCa, adminToken };
  }
  const authority = await ensureAuthority({ ...files, name: "ca", onSupplied: "ignore" });
  // Certificates of a CA in memory are useless after a restart.
  const isStored = directory !== undefined && (await isInFile(directory, authority));
  const signed = isStored ? files : { directory: undefined, now };
  const admin = await ensureLeaf({ ...signed, name: "admin", onSupplied: "ignore" }, authority, {
    commonName: "admin",
    organizations: ["system:masters"],
    usage: "client",
  });
  const serving = supplied ?? (await ensureServing(signed, authority, options.hosts));
  return {
    generated: { authority, admin },
    serving,
    servingCa: supplied === undefined ? authority.certificate : textOf(supplied.certificate),
    adminToken: await ensureToken(directory),
  };
}

function ensureServing(
  files: Pick<CredentialOptions, "directory" | "now">,
  authority: KeyPair,
  others: readonly string[],
): Promise<KeyPair> {
  const hosts = [...new Set([...localHosts(), ...others])].sort();
  const leaf = { commonName: "kube-apiserver", hosts, usage: "server" } as const;
  return ensureLeaf({ ...files, name: "apiserver" }, authority, leaf);
}

/**
 * Whether the CA is stored in the directory. If the user's CA there has no key or has expired, the
 * server uses one in memory.
 */
async function isInFile(directory: string, { certificate }: KeyPair): Promise<boolean> {
  return (await readFileIfExists(filesOf(directory, "ca").certificate)) === certificate;
}

/** The serving certificate in `directory`, of any issuer and age, unless Keelson generated it. */
async function suppliedServing(directory: string | undefined): Promise<ServingSource | undefined> {
  if (directory === undefined) return undefined;
  const files = filesOf(directory, "apiserver");
  const pair = await readPair(files);
  if (pair === undefined) return undefined;
  if (pair === "certificate only") {
    throw new FileError(halfMissing(files.certificate, files.privateKey));
  }
  if (isGenerated(readCertificate(files.certificate, pair.certificate))) return undefined;
  return { certificate: { file: files.certificate }, privateKey: { file: files.privateKey } };
}

function textOf(source: TextSource): string {
  return typeof source === "string" ? source : readFileSync(source.file, "utf8");
}

/**
 * Reads a CA, and generates it if it is missing or expiring. Names of CAs are unique, because TLS
 * finds the issuer of a certificate among the trusted CAs by name.
 */
export function ensureAuthority(options: PairOptions): Promise<KeyPair> {
  const { name, now } = options;
  return ensurePair(options, () =>
    createAuthority(`keelson-${name}-${randomBytes(4).toString("hex")}`, {
      validDays: authorityDays,
      now,
    }),
  );
}

/**
 * Reads a certificate, and generates it if it is missing, expiring or does not match the options.
 */
export function ensureLeaf(
  options: PairOptions,
  authority: KeyPair,
  leaf: Omit<LeafOptions, "validDays" | "now">,
): Promise<KeyPair> {
  return ensurePair(
    options,
    () => issueCertificate(authority, { ...leaf, validDays: leafDays, now: options.now }),
    (certificate) => isIssuedFor(certificate, authority, leaf.hosts ?? []),
  );
}

async function ensurePair(
  { directory, now, name, onSupplied = "refuse" }: PairOptions,
  make: () => Promise<KeyPair>,
  isUsable: (certificate: X509Certificate) => boolean = () => true,
): Promise<KeyPair> {
  if (directory === undefined) return make();
  const files = filesOf(directory, name);
  const ignores = onSupplied === "ignore";
  const pair = await readPair(files);
  if (pair === "certificate only") {
    if (ignores) return make();
    throw new FileError(halfMissing(files.certificate, files.privateKey));
  }
  if (pair !== undefined) {
    const parsed = readCertificate(files.certificate, pair.certificate);
    const generated = isGenerated(parsed);
    // A certificate that is not yet valid was generated while the clock was wrong.
    const isValid = Date.parse(parsed.validFrom) <= now;
    const left = Date.parse(parsed.validTo) - now;
    if (isValid && left > (generated ? renewBeforeMs : 0) && isUsable(parsed)) {
      readPrivateKey(files.privateKey, pair.privateKey);
      return pair;
    }
    if (!generated && ignores) return make();
    if (!generated) throw new FileError(unusable(files.certificate));
  }
  const made = await make();
  await writeFileAtomically(files.privateKey, made.privateKey, 0o600);
  await writeFileAtomically(files.certificate, made.certificate, 0o644);
  return made;
}

function unusable(file: string): string {
  const why = "it has expired, or was issued by another CA or for other hosts";
  return `${file} was not generated by Keelson and cannot be used: ${why}; replace or remove it`;
}

interface PairFiles {
  readonly certificate: string;
  readonly privateKey: string;
}

function filesOf(directory: string, name: string): PairFiles {
  return {
    certificate: path.join(directory, `${name}.crt`),
    privateKey: path.join(directory, `${name}.key`),
  };
}

function halfMissing(present: string, missing: string): string {
  return `${present} exists without ${missing}: a certificate and its key must be supplied together`;
}

const halfWaitMs = 50;
const halfTries = 20;

/**
 * Reads both files; undefined if neither exists. Waits briefly if only the key exists, because
 * another process may be writing the pair.
 * @throws FileError if the key remains alone
 */
async function readPair(files: PairFiles): Promise<KeyPair | "certificate only" | undefined> {
  for (let tries = 1; ; tries++) {
    const privateKey = await readFileIfExists(files.privateKey);
    const certificate = await readFileIfExists(files.certificate);
    if (certificate !== undefined && privateKey !== undefined) return { certificate, privateKey };
    if (certificate === undefined && privateKey === undefined) return undefined;
    if (tries < halfTries) await sleep(halfWaitMs);
    else if (certificate !== undefined) return "certificate only";
    else throw new FileError(halfMissing(files.privateKey, files.certificate));
  }
}

const generatedIssuer = /^CN=keelson-[a-z-]+-[0-9a-f]{8}$/;
const generatedLifetimes: readonly number[] = [authorityDays, leafDays].map(
  (days) => days * dayMs + backdateMs,
);

/**
 * Whether Keelson generated the certificate: issued by one of its CAs with exactly its validity.
 * Only those are renewed.
 */
function isGenerated({ issuer, validFrom, validTo }: X509Certificate): boolean {
  const lifetime = Date.parse(validTo) - Date.parse(validFrom);
  return generatedIssuer.test(issuer) && generatedLifetimes.includes(lifetime);
}

function readCertificate(file: string, pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (error) {
    const why = (error as Error).message;
    throw new FileError(`${file} is not a certificate: ${why}`, { cause: error });
  }
}

function readPrivateKey(file: string, pem: string): void {
  try {
    createPrivateKey(pem);
  } catch (error) {
    const why = (error as Error).message;
    throw new FileError(`${file} is not a private key: ${why}`, { cause: error });
  }
}

function isIssuedFor(
  certificate: X509Certificate,
  authority: KeyPair,
  hosts: readonly string[],
): boolean {
  const issuer = new X509Certificate(authority.certificate);
  if (!certificate.checkIssued(issuer) || !certificate.verify(issuer.publicKey)) return false;
  return hosts.every((host) =>
    isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host),
  );
}

/** Names and addresses of this host and of the Service `kubernetes`. */
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
 * The private key that signs service account tokens (PEM): RSA, because all verifiers support
 * RS256, or ECDSA, which is generated much faster.
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

/**
 * Reads the text of a secret file, which is generated if it is absent. An empty file is an error:
 * its secret may be in use, and a new one would silently invalidate it.
 */
async function ensureText(
  directory: string | undefined,
  name: string,
  make: () => string | Promise<string>,
): Promise<string> {
  if (directory === undefined) return make();
  const file = path.join(directory, name);
  const known = await readFileIfExists(file);
  if (known?.trim() === "") {
    throw new FileError(`${file} is empty: restore it, or delete it to generate a new one`);
  }
  if (known !== undefined) return known;
  const made = await make();
  await writeFileAtomically(file, made, 0o600);
  return made;
}
