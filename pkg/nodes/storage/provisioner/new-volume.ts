import type { Draft } from "#client";
import {
  type ClaimRef,
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  type StorageClass,
} from "#kinds";
import { Quantity } from "#meta";
import { stableUuid } from "../../identifiers.ts";
import { driverName } from "../driver.ts";
import type { StorageNames } from "../storage-names.ts";
import { affinityTo } from "../topology.ts";

/** Default file system type. */
const defaultFsType = "ext4";

export interface NewVolume {
  readonly claim: PersistentVolumeClaim;
  readonly storageClass: StorageClass;
  readonly zone: string;
  /** Identity of the provisioner process. */
  readonly identity: string;
  readonly names: StorageNames;
}

/** Name of the volume provisioned for a claim. */
export function volumeNameFor({ metadata }: PersistentVolumeClaim): string {
  return `pvc-${metadata.uid}`;
}

export function requestedSize({ spec }: PersistentVolumeClaim): Quantity {
  return Quantity.parse(spec?.resources?.requests?.["storage"] ?? "0");
}

/** PersistentVolume for a claim, like external-provisioner's. */
export function newVolume(options: NewVolume): Draft<PersistentVolume> {
  const { claim, storageClass, zone, names } = options;
  const { spec = {} } = claim;
  const { reclaimPolicy = "Delete", mountOptions = [] } = storageClass;
  const { volumeMode, volumeAttributesClassName: attributesClass = "" } = spec;
  const name = volumeNameFor(claim);
  return {
    metadata: {
      name,
      annotations: {
        [names.provisionedBy]: driverName,
        [names.deletionSecretName]: "",
        [names.deletionSecretNamespace]: "",
      },
      finalizers: [names.provisionerFinalizer],
    },
    spec: {
      accessModes: spec.accessModes ?? [],
      capacity: { storage: Quantity.of(requestedSize(claim).value(), "BinarySI").canonical() },
      claimRef: refTo(claim),
      csi: csiSource(options, stableUuid(driverName, name)),
      ...(mountOptions.length === 0 ? {} : { mountOptions }),
      nodeAffinity: affinityTo(zone),
      persistentVolumeReclaimPolicy: reclaimPolicy,
      storageClassName: names.classOf(claim),
      ...(attributesClass === "" ? {} : { volumeAttributesClassName: attributesClass }),
      ...(volumeMode === undefined ? {} : { volumeMode }),
    },
  };
}

function csiSource({ claim, storageClass, identity, names }: NewVolume, volumeHandle: string) {
  const { parameters = {} } = storageClass;
  const own = Object.entries(parameters).filter(
    ([key]) => !key.startsWith(names.sidecarParameters) && key.toLowerCase() !== "fstype",
  );
  const volumeAttributes = {
    [names.provisionerIdentity]: identity,
    ...Object.fromEntries(own),
  };
  const source = { driver: driverName, volumeHandle, volumeAttributes };
  if (claim.spec?.volumeMode === "Block") return source;
  const given = parameters[names.fsType] ?? parameters["fstype"] ?? parameters["fsType"];
  return { ...source, fsType: given ?? defaultFsType };
}

function refTo({ metadata }: PersistentVolumeClaim): ClaimRef {
  const { kind, version: apiVersion } = persistentVolumeClaims;
  const { namespace = "", name, uid, resourceVersion } = metadata;
  return { kind, apiVersion, namespace, name, uid, resourceVersion };
}
