/** Validation of volumes whose files come from API objects. */
import type { Infer, Path, Problems } from "#schema";
import { goSelector, goShape } from "../../go/go-shape.ts";
import { invalidEach, unsupported } from "../../strategy.ts";
import { checkLabelSelector } from "../../label-selector.ts";
import { type Domain, isDns1123Subdomain, resolve } from "#meta";
import {
  checkFieldReference,
  checkResourceReference,
  fileFields,
} from "../pod/container/field-reference-rules.ts";
import { checkFilePath, checkMode } from "../shared/path-rules.ts";
import {
  clusterTrustBundleProjection,
  type DownwardAPIVolumeFile,
  type keyToPath,
  type ProjectedVolumeSource,
} from "./projected-volumes.ts";
import { signerNameFaults } from "../shared/signer-name.ts";
import { checkTokenExpiration } from "../shared/token-expiration.ts";

type Item = Infer<typeof keyToPath>;
type Projection = NonNullable<ProjectedVolumeSource["sources"]>[number];

export function checkItems(
  items: readonly Item[] | undefined,
  path: Path,
  problems: Problems,
): void {
  for (const [index, item] of (items ?? []).entries()) {
    checkItem(item, path.child("items").index(index), problems);
  }
}

/** Validates a downward API file; causes have the path of the volume. */
function checkDownwardFile(
  { path: target, fieldRef, resourceFieldRef, mode }: DownwardAPIVolumeFile,
  path: Path,
  problems: Problems,
): void {
  if (target === "") problems.required(path.child("path"));
  checkFilePath(target, path.child("path"), problems);
  if (fieldRef !== undefined) {
    checkFieldReference(fieldRef, path.child("fieldRef"), { fields: fileFields, problems });
    if (resourceFieldRef !== undefined) {
      const detail = "fieldRef and resourceFieldRef can not be specified simultaneously";
      problems.invalid(path, "resource", detail);
    }
  } else if (resourceFieldRef !== undefined) {
    const resourceFieldRefPath = path.child("resourceFieldRef");
    checkResourceReference(resourceFieldRef, resourceFieldRefPath, { inVolume: true, problems });
  } else problems.required(path, "one of fieldRef and resourceFieldRef is required");
  checkMode(mode, path.child("mode"), problems);
}

export function checkDownwardFiles(
  files: readonly DownwardAPIVolumeFile[] | undefined,
  path: Path,
  problems: Problems,
): void {
  for (const file of files ?? []) checkDownwardFile(file, path, problems);
}

/** Paths of the files of a projected volume, which must be unique. */
interface Files {
  /** Path of the volume, used for conflicts and some other errors. */
  readonly path: Path;
  readonly taken: Set<string>;
  readonly domain: Domain;
  readonly problems: Problems;
}

/** Claims a file path; conflicts name the object if there is one. */
function claim(target: string | undefined, shown: string | undefined, files: Files): void {
  if (!target) return;
  if (files.taken.has(target)) {
    files.problems.invalid(files.path, shown ?? target, "conflicting duplicate paths");
  }
  files.taken.add(target);
}

export function checkProjected(
  { sources, defaultMode }: ProjectedVolumeSource,
  path: Path,
  { domain, problems }: { readonly domain: Domain; readonly problems: Problems },
): void {
  checkMode(defaultMode, path.child("defaultMode"), problems);
  const files: Files = { path, taken: new Set(), domain, problems };
  for (const [index, source] of (sources ?? []).entries()) {
    checkProjection(source, path.child("sources").index(index), files);
  }
}

function checkProjection(source: Projection, path: Path, files: Files): void {
  let found = 0;
  for (const [name, check] of checks) {
    if (source[name] === undefined) continue;
    if (found > 0) {
      files.problems.forbidden(path, "may not specify more than 1 volume type per source");
    } else check(source, path.child(name), files);
    found++;
  }
}

type Check = (source: Projection, path: Path, files: Files) => void;

const checks: readonly (readonly [keyof Projection, Check])[] = [
  ["secret", ({ secret }, path, files) => checkObject(secret, path, files)],
  ["configMap", ({ configMap }, path, files) => checkObject(configMap, path, files)],
  ["downwardAPI", checkDownward],
  ["serviceAccountToken", checkToken],
  ["clusterTrustBundle", checkTrustBundle],
  ["podCertificate", checkCertificate],
];

function checkObject(source: Projection["secret"], path: Path, files: Files): void {
  const { name, items } = source ?? {};
  if (!name) files.problems.required(path.child("name"));
  for (const [index, item] of (items ?? []).entries()) {
    checkItem(item, path.child("items").index(index), files.problems);
    claim(item.path, name ?? "", files);
  }
}

function checkItem({ key, path: target, mode }: Item, path: Path, problems: Problems): void {
  if (key === "") problems.required(path.child("key"));
  if (target === "") problems.required(path.child("path"));
  checkFilePath(target, path.child("path"), problems);
  checkMode(mode, path.child("mode"), problems);
}

function checkDownward({ downwardAPI }: Projection, path: Path, files: Files): void {
  for (const file of downwardAPI?.items ?? []) {
    checkDownwardFile(file, path, files.problems);
    claim(file.path, undefined, files);
  }
}

function checkToken({ serviceAccountToken }: Projection, path: Path, files: Files): void {
  const { expirationSeconds: seconds, path: target = "" } = serviceAccountToken ?? {};
  const { problems } = files;
  if (seconds !== undefined)
    checkTokenExpiration(seconds, path.child("expirationSeconds"), problems);
  const pathField = files.path.child("path");
  if (target === "") problems.required(pathField);
  else checkFilePath(target, pathField, problems);
}

function checkTrustBundle({ clusterTrustBundle }: Projection, path: Path, files: Files): void {
  if (clusterTrustBundle === undefined) return;
  const { name, signerName, labelSelector, path: target } = clusterTrustBundle;
  const { problems } = files;
  if (name !== undefined && signerName !== undefined) {
    const detail = "only one of name and signerName may be used";
    problems.invalid(path, goShape(clusterTrustBundleProjection, clusterTrustBundle), detail);
  } else if (name !== undefined) {
    if (name === "") problems.required(path.child("name"), "must be a valid object name");
    const messages = name === "" ? [] : isDns1123Subdomain(name.split(":").at(-1) ?? "");
    invalidEach(problems, path.child("name"), { value: name, messages });
    if (labelSelector !== undefined) {
      const detail = "labelSelector must be unset if name is specified";
      problems.invalid(path.child("labelSelector"), goSelector(labelSelector), detail);
    }
  } else if (signerName !== undefined) {
    const signerNamePath = path.child("signerName");
    if (signerName === "") problems.required(signerNamePath, "must be a valid signer name");
    checkSigner(signerName, signerNamePath, problems);
    checkLabelSelector(labelSelector, path.child("labelSelector"), problems);
  } else problems.required(path, "either name or signerName must be specified");
  if (target === "") problems.required(path.child("path"));
  checkFilePath(target, path.child("path"), problems);
  claim(target, undefined, files);
}

function checkSigner(name: string, path: Path, problems: Problems): void {
  if (name === "") return problems.required(path);
  for (const { value, message } of signerNameFaults(name)) problems.invalid(path, value, message);
}

const keyTypes = ["RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"];
const hourSeconds = 3600;
const daySeconds = 24 * hourSeconds;
/** Maximum lifetimes: of Kubernetes' signers, and of others. */
const maxKubernetesSignerSeconds = daySeconds;
const maxSignerSeconds = 91 * daySeconds;

function checkCertificate({ podCertificate }: Projection, path: Path, files: Files): void {
  if (podCertificate === undefined) return;
  const { signerName = "", keyType = "", maxExpirationSeconds = daySeconds } = podCertificate;
  const { problems } = files;
  checkSigner(signerName, path.child("signerName"), problems);
  if (!keyTypes.includes(keyType)) {
    unsupported(problems, path.child("keyType"), { value: keyType, supported: keyTypes });
  }
  const maxExpirationSecondsPath = path.child("maxExpirationSeconds");
  const longest = signerName.startsWith(resolve("{label}/", files.domain))
    ? maxKubernetesSignerSeconds
    : maxSignerSeconds;
  const limit = (sign: string, bound: number) =>
    problems.invalid(
      maxExpirationSecondsPath,
      maxExpirationSeconds,
      `if provided, maxExpirationSeconds must be ${sign} ${bound}`,
    );
  if (maxExpirationSeconds < hourSeconds) limit(">=", hourSeconds);
  else if (maxExpirationSeconds > longest) limit("<=", longest);
  const names = ["credentialBundlePath", "keyPath", "certificateChainPath"] as const;
  if (names.every((name) => !podCertificate[name])) {
    const detail =
      "specify at least one of credentialBundlePath, keyPath, and certificateChainPath";
    problems.required(path, detail);
  }
  for (const name of names) {
    const target = podCertificate[name];
    if (!target) continue;
    checkFilePath(target, path.child(name), problems);
    claim(target, undefined, files);
  }
}
