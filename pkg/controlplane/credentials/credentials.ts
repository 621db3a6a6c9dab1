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

/** What the server generated for itself; PEM texts. */
export interface GeneratedCredentials {
  readonly authority: KeyPair;
  /** Client certificate of the user `admin`. */
  readonly admin: KeyPair;
}

export interface Credentials {
  /** Undefined if the user supplied all that the server needs. */
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
/** By which Keelson's certificates are valid before they are made. */
const backdateMs = 5 * 60_000;
const renewBeforeMs = 30 * dayMs;

export interface CredentialOptions {
  /** Directory of the files; undefined = nothing is written. */
  readonly directory: string | undefined;
  readonly now: number;
  /** Names and addresses beside this machine's own that clients use for the server. */
  readonly hosts: readonly string[];
  /** The user's serving certificate; undefined = that of `directory`, or a generated one. */
  readonly serving: ServingSource | undefined;
  /** Whether the server needs an authority and an administrator of its own. */
  readonly needsAuthority: boolean;
}

/** An authority, or a certificate that is issued by one. */
export interface PairOptions extends Pick<CredentialOptions, "directory" | "now"> {
  /** Base name of the files, without their endings. */
  readonly name: string;
  /**
   * What to do with files of the user that cannot be used here: fail, or leave them alone and keep
   * the generated pair in memory. Default: refuse.
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
 * renewed when they expire or are for other hosts; files of the user are never written over.
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
  // What an authority in memory has signed is worthless after a restart.
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
 * An authority without its key, or an expired one, is the user's and of no use here: the server then
 * has one in memory.
 */
async function isInFile(directory: string, { certificate }: KeyPair): Promise<boolean> {
  return (await readFileIfExists(filesOf(directory, "ca").certificate)) === certificate;
}

/** The serving certificate in `directory` unless Keelson generated it, whatever its issuer and age. */
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
 * Reads an authority, and makes it if it is missing or expiring. No two have the same name: of
 * those that a server trusts, TLS finds the issuer of simple certificates by name alone.
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

/** Reads a certificate, and makes it if it is missing, expiring or another one than is wanted. */
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
    // One from the future was made when the clock was wrong.
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
  const why = "it has expired, or is of another authority or for other hosts";
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
  return `${present} is there without ${missing}: a certificate and its key must be supplied as a pair`;
}

const halfWaitMs = 50;
const halfTries = 20;

/**
 * Both files; undefined if neither exists. Another process may have written the key alone so far.
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
 * Whether Keelson generated the certificate: issued by one of its authorities for exactly the time
 * that it gives. Only those are renewed.
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

/**
 * The text of a secret file, which is made unless it is there. An empty one is refused: what it held
 * is in use, and a new secret would end that without a word.
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
    throw new FileError(`${file} is empty: restore it, or delete it to have a new one made`);
  }
  if (known !== undefined) return known;
  const made = await make();
  await writeFileAtomically(file, made, 0o600);
  return made;
}
