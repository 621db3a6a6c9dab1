/** Validation of volume sources that pods and PersistentVolumes share. */
import type { Infer, Path, Problems } from "#schema";
import { isDns1123Label, isDns1123Subdomain, kubernetes } from "#meta";
import { invalidEach, sortedKeys } from "../../strategy.ts";
import { checkFilePath, checkNoBacksteps } from "../shared/path-rules.ts";
import type { volumeSource } from "./volumes.ts";

/** Volume sources of pods by name. */
export type Source = Required<Infer<typeof volumeSource>>;

const maxUnitNumber = 255;
const maxTenantLength = 64;
const unitRangeMessage = `must be between 0 and ${maxUnitNumber}, inclusive`;

const hostPathTypes = [
  "",
  "BlockDevice",
  "CharDevice",
  "Directory",
  "DirectoryOrCreate",
  "File",
  "FileOrCreate",
  "Socket",
];

/** Requires each of these fields to be non-empty. */
export function requireFields(
  fields: Readonly<Record<string, unknown>>,
  path: Path,
  problems: Problems,
): void {
  for (const [field, value] of Object.entries(fields)) {
    const isEmpty = Array.isArray(value) ? value.length === 0 : !value;
    if (isEmpty) problems.required(path.child(field));
  }
}

/** Validates a logical unit number (LUN). */
function checkUnit(value: number, path: Path, problems: Problems): void {
  if (value < 0 || value > maxUnitNumber) problems.invalid(path, value, unitRangeMessage);
}

/** Validates a partition. 0 and absent mean the whole disk, contrary to the message. */
export function checkPartition(value: number | undefined, path: Path, problems: Problems): void {
  const number = value ?? 0;
  if (number >= 0 && number <= maxUnitNumber) return;
  problems.invalid(path.child("partition"), number, "must be between 1 and 255, inclusive");
}

export function checkHostPath(
  { path: text, type }: Source["hostPath"],
  path: Path,
  problems: Problems,
): void {
  if (text === "") return problems.required(path.child("path"));
  checkNoBacksteps(text, path.child("path"), problems);
  if (type === undefined || hostPathTypes.includes(type)) return;
  problems.notSupported(path.child("type"), type, hostPathTypes);
}

export function checkNfs(
  { server, path: directory }: Source["nfs"],
  path: Path,
  problems: Problems,
): void {
  requireFields({ server, path: directory }, path, problems);
  if (directory.startsWith("/")) return;
  problems.invalid(path.child("path"), directory, "must be an absolute path");
}

export function checkFc(
  { targetWWNs = [], wwids = [], lun }: Source["fc"],
  path: Path,
  problems: Problems,
): void {
  const targetWWNsPath = path.child("targetWWNs");
  if (targetWWNs.length === 0) {
    const detail = "must specify either targetWWNs or wwids, but not both";
    if (wwids.length === 0) problems.required(targetWWNsPath, detail);
    return;
  }
  if (wwids.length > 0) {
    const detail = "targetWWNs and wwids can not be specified simultaneously";
    problems.invalid(targetWWNsPath, targetWWNs, detail);
  }
  if (lun !== undefined) return checkUnit(lun, path.child("lun"), problems);
  problems.required(path.child("lun"), "lun is required if targetWWNs is specified");
}

export function checkFlocker(
  { datasetName = "", datasetUUID = "" }: Source["flocker"],
  path: Path,
  problems: Problems,
): void {
  if (datasetName === "" && datasetUUID === "") {
    problems.required(path, "one of datasetName and datasetUUID is required");
  }
  if (datasetName !== "" && datasetUUID !== "") {
    const detail = "datasetName and datasetUUID can not be specified simultaneously";
    problems.invalid(path, "resource", detail);
  }
  if (!datasetName.includes("/")) return;
  problems.invalid(path.child("datasetName"), datasetName, "must not contain '/'");
}

export function checkQuobyte(
  { registry, volume, tenant = "" }: Source["quobyte"],
  path: Path,
  problems: Problems,
): void {
  const registryPath = path.child("registry");
  const detail = "must be a host:port pair or multiple pairs separated by commas";
  if (registry === "") problems.required(registryPath, detail);
  else if (tenant.length > maxTenantLength) {
    const length = "must be a UUID and may not exceed a length of 64 characters";
    problems.required(path.child("tenant"), length);
  } else {
    for (const pair of registry.split(",")) {
      if (!/^(\[[^\]]*\]|[^:[\]]*):[^:[\]]*$/.test(pair))
        problems.invalid(registryPath, registry, detail);
    }
  }
  requireFields({ volume }, path, problems);
}

const cachingModes = ["None", "ReadOnly", "ReadWrite"];
const diskKinds = ["Dedicated", "Managed", "Shared"];
const managedDisk =
  "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}";
const blobDisk = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd";

export function checkAzureDisk(
  { diskName, diskURI, cachingMode, kind }: Source["azureDisk"],
  path: Path,
  problems: Problems,
): void {
  requireFields({ diskName, diskURI }, path, problems);
  if (cachingMode !== undefined && !cachingModes.includes(cachingMode)) {
    problems.notSupported(path.child("cachingMode"), cachingMode, cachingModes);
  }
  if (kind === undefined) return;
  if (!diskKinds.includes(kind)) problems.notSupported(path.child("kind"), kind, diskKinds);
  const form = kind === "Managed" ? managedDisk : blobDisk;
  const start = kind === "Managed" ? "/subscriptions/" : "https://";
  if (!diskURI.startsWith(start)) problems.notSupportedText(path.child("diskURI"), diskURI, [form]);
}

export function checkGitRepo(
  { repository, directory = "" }: Source["gitRepo"],
  path: Path,
  problems: Problems,
): void {
  requireFields({ repository }, path, problems);
  checkFilePath(directory, path.child("directory"), problems);
}

/** Requires the name in a local Secret reference. */
export function checkSecretName(
  secret: { readonly name?: string } | null | undefined,
  path: Path,
  problems: Problems,
): void {
  if (secret) requireFields({ name: secret.name }, path.child("secretRef"), problems);
}

const initiatorForms = [
  /^iqn\.\d{4}-\d{2}\.[a-zA-Z0-9.-]+(:[^,;*&$|\s]+)$/,
  /^eui\.[a-zA-Z0-9]{16}$/,
  /^naa\.[a-zA-Z0-9]{32}$/,
];

const initiatorPrefixes = ["iqn", "eui", "naa"];

/**
 * Validates an iSCSI initiator name.
 * @param inPod the message for an unknown prefix lists the allowed ones
 */
function checkInitiator(
  name: string,
  path: Path,
  { problems, inPod }: { readonly problems: Problems; readonly inPod: boolean },
): void {
  if (initiatorForms.some((form) => form.test(name))) return;
  const hasPrefix = initiatorPrefixes.some((prefix) => name.startsWith(prefix));
  const form = "must be valid format";
  const prefixes = `${form} starting with iqn, eui, or naa`;
  problems.invalid(path, name, hasPrefix || !inPod ? form : prefixes);
}

export function checkIscsi(
  source: Omit<Source["iscsi"], "secretRef"> & {
    readonly secretRef?: { readonly name?: string };
  },
  path: Path,
  problems: Problems,
): void {
  checkTarget(source, path, { problems, inPod: true });
}

/**
 * Validates an iSCSI source of a PersistentVolume: name plus portal are limited to 64 characters.
 */
export function checkVolumeIscsi(
  source: Parameters<typeof checkIscsi>[0],
  path: Path,
  { volumeName, problems }: { readonly volumeName: string; readonly problems: Problems },
): void {
  const { initiatorName, targetPortal } = source;
  if (initiatorName !== undefined && isLongTarget(volumeName, targetPortal)) {
    problems.invalid(path.child("targetportal"), targetPortal, targetTooLongMessage);
  }
  checkTarget(source, path, { problems, inPod: false });
}

const maxTargetLength = 64;

export const targetTooLongMessage =
  "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if " +
  "iscsi.initiatorName is specified.";

/** Whether the interface name derived from volume and portal would be too long. */
export function isLongTarget(volumeName: string, targetPortal: string): boolean {
  return Buffer.byteLength(`${volumeName}:${targetPortal}`) > maxTargetLength;
}

/** Validates target fields; the Secret name is required in PersistentVolumes only. */
function checkTarget(
  source: Parameters<typeof checkIscsi>[0],
  path: Path,
  options: { readonly problems: Problems; readonly inPod: boolean },
): void {
  const { problems } = options;
  const { targetPortal, iqn, lun, initiatorName, secretRef } = source;
  requireFields({ targetPortal }, path, problems);
  if (iqn === "") problems.required(path.child("iqn"));
  else checkInitiator(iqn, path.child("iqn"), options);
  checkUnit(lun, path.child("lun"), problems);
  const needsSecret = source.chapAuthDiscovery || source.chapAuthSession;
  if (secretRef === undefined && needsSecret) problems.required(path.child("secretRef"));
  if (!options.inPod) checkSecretName(secretRef, path, problems);
  if (initiatorName === undefined) return;
  checkInitiator(initiatorName, path.child("initiatorname"), options);
}

/** Validates a FlexVolume: option names with Kubernetes' domains are reserved. */
export function checkFlex(
  { driver, options }: Pick<Source["flexVolume"], "driver" | "options">,
  path: Path,
  problems: Problems,
): void {
  requireFields({ driver }, path, problems);
  for (const key of sortedKeys(options)) {
    const prefix = `.${(key.includes("/") ? key.slice(0, key.indexOf("/")) : key).toLowerCase()}`;
    const { api, label } = kubernetes;
    if (!prefix.endsWith(`.${label}`) && !prefix.endsWith(`.${api}`)) continue;
    const detail = `${label} and ${api} namespaces are reserved`;
    problems.invalid(path.child("options").key(key), key, detail);
  }
}

export function checkStorageOs(
  source: Pick<Source["storageos"], "volumeName" | "volumeNamespace" | "secretRef">,
  path: Path,
  problems: Problems,
): void {
  const { volumeName = "", volumeNamespace = "", secretRef } = source;
  const volumeNamePath = path.child("volumeName");
  if (volumeName === "") problems.required(volumeNamePath);
  else
    invalidEach(problems, volumeNamePath, {
      value: volumeName,
      messages: isDns1123Label(volumeName),
    });
  if (volumeNamespace !== "") {
    invalidEach(problems, path.child("volumeNamespace"), {
      value: volumeNamespace,
      messages: isDns1123Label(volumeNamespace),
    });
  }
  checkSecretName(secretRef, path, problems);
}

const maxDriverLength = 63;

/** Validates a CSI driver name. */
export function checkDriverName(name: string, path: Path, problems: Problems): void {
  if (name === "") problems.required(path);
  if (name.length > maxDriverLength) problems.tooLong(path, "", maxDriverLength);
  const messages = isDns1123Subdomain(name.toLowerCase());
  invalidEach(problems, path, { value: name, messages });
}
