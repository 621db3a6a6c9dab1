/** Rules of the sources that only pods have. */
import type { Infer, Path, Problems } from "#schema";
import { isDns1123Label, isDns1123Subdomain } from "#meta";
import { invalidEach, sortedKeys } from "../strategy.ts";
import { checkDescendingPath } from "./path-rules.ts";
import type {
  flexVolumeSource,
  gitRepoVolumeSource,
  iscsiVolumeSource,
  storageOSVolumeSource,
} from "./pod-volume-sources.ts";
import { checkPresent, checkUnit } from "./volume-source-rules.ts";

const qualifiedForms: Readonly<Record<string, RegExp>> = {
  iqn: /iqn\.\d{4}-\d{2}\.([A-Za-z0-9\-.]+)(:[^,;*&$|\s]+)$/,
  eui: /^eui.[A-Za-z0-9]{16}$/,
  naa: /^naa.[A-Za-z0-9]{32}$/,
};

function checkQualifiedName(name: string, path: Path, problems: Problems): void {
  if (qualifiedForms[name.slice(0, 3)]?.test(name)) return;
  problems.invalid(path, name, "must be valid format");
}

export function checkIscsi(
  iscsi: Infer<typeof iscsiVolumeSource>,
  path: Path,
  problems: Problems,
): void {
  checkPresent(iscsi, ["targetPortal", "iqn"], { path, problems });
  if (iscsi.iqn !== "") checkQualifiedName(iscsi.iqn, path.child("iqn"), problems);
  checkUnit(iscsi.lun, path.child("lun"), problems);
  if ((iscsi.chapAuthDiscovery || iscsi.chapAuthSession) && iscsi.secretRef === undefined) {
    problems.required(path.child("secretRef"));
  }
  if (iscsi.initiatorName === undefined) return;
  checkQualifiedName(iscsi.initiatorName, path.child("initiatorName"), problems);
}

/** Options of Kubernetes' own domains are not the user's to set. */
export function checkFlex(
  source: Infer<typeof flexVolumeSource>,
  path: Path,
  problems: Problems,
): void {
  checkPresent(source, ["driver"], { path, problems });
  for (const key of sortedKeys(source.options)) {
    const domain = `.${key.split("/", 2)[0] ?? ""}`.toLowerCase();
    if (!domain.endsWith(".kubernetes.io") && !domain.endsWith(".k8s.io")) continue;
    const detail = "kubernetes.io and k8s.io namespaces are reserved";
    problems.invalid(path.child("options").key(key), key, detail);
  }
}

export function checkStorageOs(
  source: Infer<typeof storageOSVolumeSource>,
  path: Path,
  problems: Problems,
): void {
  checkPresent(source, ["volumeName"], { path, problems });
  for (const field of ["volumeName", "volumeNamespace"] as const) {
    const value = source[field];
    if (value) invalidEach(problems, path.child(field), { value, messages: isDns1123Label(value) });
  }
  checkSecretName(source.secretRef, path.child("secretRef"), problems);
}

export function checkSecretName(
  secret: { readonly name?: string } | undefined,
  path: Path,
  problems: Problems,
): void {
  if (secret !== undefined && !secret.name) problems.required(path.child("name"));
}

const LONGEST_DRIVER = 63;

/** A DNS name, in any case. */
export function checkDriverName(driver: string, path: Path, problems: Problems): void {
  if (driver === "") problems.required(path);
  if (driver.length > LONGEST_DRIVER) return problems.tooLong(path, driver, LONGEST_DRIVER);
  const messages = isDns1123Subdomain(driver.toLowerCase());
  invalidEach(problems, path, { value: driver, messages });
}

export function checkGitRepo(
  source: Infer<typeof gitRepoVolumeSource>,
  path: Path,
  problems: Problems,
): void {
  checkPresent(source, ["repository"], { path, problems });
  checkDescendingPath(source.directory ?? "", path.child("directory"), problems);
}
