/** Validation of PersistentVolume sources, in Kubernetes' order. */
import type { Path, Problems } from "#schema";
import { isDns1123Label, isDns1123Subdomain } from "#meta";
import { invalidEach } from "../../strategy.ts";
import type { PersistentVolumeSource } from "./persistent-volume-sources.ts";
import { checkNoBacksteps } from "../shared/path-rules.ts";
import {
  checkAzureDisk,
  checkDriverName,
  checkFc,
  checkFlex,
  checkFlocker,
  checkHostPath,
  checkIscsi,
  checkNfs,
  checkPartition,
  checkQuobyte,
  checkStorageOs,
  checkVolumeIscsi,
  requireFields,
} from "../volume/volume-source-rules.ts";

type Sources = Required<PersistentVolumeSource>;
type Check<Name extends keyof Sources> = (
  source: Sources[Name],
  path: Path,
  problems: Problems,
) => void;

/** Requires name and namespace in a Secret reference, unless it is absent. */
function checkSecret(
  secret: { readonly name?: string; readonly namespace?: string } | undefined,
  path: Path,
  problems: Problems,
): void {
  if (secret === undefined) return;
  requireFields({ name: secret.name, namespace: secret.namespace }, path, problems);
}

/** Like checkSecret, but also validates the names. */
function checkNamedSecret(
  secret: { readonly name?: string; readonly namespace?: string } | undefined,
  path: Path,
  problems: Problems,
): void {
  if (secret === undefined) return;
  const { name, namespace } = secret;
  if (!name) problems.required(path.child("name"));
  else
    invalidEach(problems, path.child("name"), { value: name, messages: isDns1123Subdomain(name) });
  const namespacePath = path.child("namespace");
  if (!namespace) problems.required(namespacePath);
  else
    invalidEach(problems, namespacePath, { value: namespace, messages: isDns1123Label(namespace) });
}

const checkGluster: Check<"glusterfs"> = (source, path, problems) => {
  const { endpoints, path: volume, endpointsNamespace: namespace } = source;
  requireFields({ endpoints, path: volume }, path, problems);
  if (namespace === undefined) return;
  const endpointsNamespacePath = path.child("endpointsNamespace");
  const unset = "if the endpointnamespace is set, it must be a valid namespace name";
  const messages = namespace === "" ? [unset] : isDns1123Label(namespace);
  invalidEach(problems, endpointsNamespacePath, { value: namespace, messages });
};

const checkCsi: Check<"csi"> = (source, path, problems) => {
  checkDriverName(source.driver, path.child("driver"), problems);
  requireFields({ volumeHandle: source.volumeHandle }, path, problems);
  // Kubernetes does not validate the secret for staging.
  for (const field of [
    "controllerPublishSecretRef",
    "controllerExpandSecretRef",
    "nodePublishSecretRef",
    "nodeExpandSecretRef",
  ] as const) {
    checkNamedSecret(source[field], path.child(field), problems);
  }
};

/** Validation by source. */
const checks: { readonly [Name in keyof Sources]: Check<Name> } = {
  hostPath: checkHostPath,
  gcePersistentDisk: ({ pdName, partition }, path, problems) => {
    requireFields({ pdName }, path, problems);
    checkPartition(partition, path, problems);
  },
  awsElasticBlockStore: ({ volumeID, partition }, path, problems) => {
    requireFields({ volumeID }, path, problems);
    checkPartition(partition, path, problems);
  },
  glusterfs: checkGluster,
  flocker: checkFlocker,
  nfs: checkNfs,
  rbd: ({ monitors, image }, path, problems) => requireFields({ monitors, image }, path, problems),
  quobyte: checkQuobyte,
  cephfs: ({ monitors }, path, problems) => requireFields({ monitors }, path, problems),
  iscsi: checkIscsi,
  cinder: ({ volumeID, secretRef }, path, problems) => {
    requireFields({ volumeID }, path, problems);
    checkSecret(secretRef, path.child("secretRef"), problems);
  },
  fc: checkFc,
  flexVolume: checkFlex,
  azureFile: ({ secretName, shareName, secretNamespace }, path, problems) => {
    requireFields({ secretName, shareName }, path, problems);
    if (secretNamespace !== null) requireFields({ secretNamespace }, path, problems);
  },
  vsphereVolume: ({ volumePath }, path, problems) => requireFields({ volumePath }, path, problems),
  photonPersistentDisk: ({ pdID }, path, problems) => requireFields({ pdID }, path, problems),
  portworxVolume: ({ volumeID }, path, problems) => requireFields({ volumeID }, path, problems),
  azureDisk: checkAzureDisk,
  scaleIO: ({ gateway, system, volumeName }, path, problems) =>
    requireFields({ gateway, system, volumeName }, path, problems),
  local: ({ path: target }, path, problems) => {
    if (target === "") problems.required(path.child("path"));
    else checkNoBacksteps(target, path.child("path"), problems);
  },
  storageos: ({ secretRef, ...source }, path, problems) => {
    checkStorageOs(source, path, problems);
    checkSecret(secretRef, path.child("secretRef"), problems);
  },
  csi: checkCsi,
};

/** Names of the sources in the order of validation. */
const sourceNames = Object.keys(checks) as readonly (keyof Sources)[];

/** Requires exactly one source; a flexVolume after another source is tolerated. */
export function checkVolumeSources(
  spec: PersistentVolumeSource & { readonly nodeAffinity?: unknown },
  path: Path,
  { volumeName, problems }: { readonly volumeName: string; readonly problems: Problems },
): void {
  let count = 0;
  for (const name of sourceNames) {
    const source = spec[name];
    if (source === undefined) continue;
    if (count > 0 && name !== "flexVolume") {
      problems.forbidden(path.child(name), "may not specify more than 1 volume type");
    } else checkSource(name, spec, { path, volumeName, problems });
    count++;
    if (name !== "local" || spec.nodeAffinity !== undefined) continue;
    problems.required(path.child("nodeAffinity"), "Local volume requires node affinity");
  }
  if (count === 0) problems.required(path, "must specify a volume type");
}

function checkSource<Name extends keyof Sources>(
  name: Name,
  spec: PersistentVolumeSource,
  options: { readonly path: Path; readonly volumeName: string; readonly problems: Problems },
): void {
  const { path, problems } = options;
  const source = spec[name];
  if (source === undefined) return;
  if (name === "iscsi" && spec.iscsi !== undefined) {
    return checkVolumeIscsi(spec.iscsi, path.child(name), options);
  }
  // Errors of GCE disks are reported for a field that does not exist, as in Kubernetes.
  const field = name === "gcePersistentDisk" ? "persistentDisk" : name;
  checks[name](source as Sources[Name], path.child(field), problems);
}
