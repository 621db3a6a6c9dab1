/** Volumes, claims, and what provisions and attaches them. */
import type { ApiObject, Handle } from "#client";
import { type Domain, type LabelSelector, resolve } from "#meta";
import type { Amounts } from "#quota";
import type { NodeSelector } from "./node.ts";

export interface PersistentVolumeClaim extends ApiObject {
  readonly spec?: {
    readonly accessModes?: readonly string[];
    readonly resources?: { readonly requests?: Amounts };
    readonly selector?: LabelSelector;
    readonly storageClassName?: string;
    readonly volumeAttributesClassName?: string;
    readonly volumeMode?: string;
    readonly volumeName?: string;
  };
  readonly status?: {
    readonly phase?: "Pending" | "Bound" | "Lost";
    readonly accessModes?: readonly string[];
    readonly capacity?: Amounts;
    readonly currentVolumeAttributesClassName?: string;
    readonly modifyVolumeStatus?: { readonly targetVolumeAttributesClassName?: string };
  };
}

export type VolumePhase = "Pending" | "Available" | "Bound" | "Released" | "Failed";

/** Reference of a volume to its claim; without a uid, the volume is reserved for the claim. */
export interface ClaimRef {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
}

export interface PersistentVolume extends ApiObject {
  readonly spec?: {
    readonly accessModes?: readonly string[];
    readonly capacity?: Amounts;
    readonly claimRef?: ClaimRef;
    readonly csi?: { readonly driver: string; readonly volumeHandle: string };
    readonly hostPath?: { readonly path: string };
    readonly nodeAffinity?: { readonly required?: NodeSelector };
    readonly persistentVolumeReclaimPolicy?: string;
    readonly storageClassName?: string;
    readonly volumeAttributesClassName?: string;
    readonly volumeMode?: string;
  };
  readonly status?: { readonly phase?: VolumePhase; readonly message?: string };
}

export interface StorageClass extends ApiObject {
  readonly provisioner: string;
  readonly volumeBindingMode?: string;
  readonly allowedTopologies?: readonly {
    readonly matchLabelExpressions?: readonly {
      readonly key: string;
      readonly values?: readonly string[];
    }[];
  }[];
}

export interface VolumeAttachment extends ApiObject {
  readonly spec: {
    readonly attacher: string;
    readonly nodeName: string;
    readonly source: { readonly persistentVolumeName?: string };
  };
  readonly status?: {
    readonly attached?: boolean;
    readonly attachError?: { readonly message?: string };
  };
}

export interface CsiDriver extends ApiObject {
  readonly spec?: { readonly attachRequired?: boolean };
}

export const persistentVolumeClaims: Handle<PersistentVolumeClaim> = {
  group: "",
  version: "v1",
  plural: "persistentvolumeclaims",
  kind: "PersistentVolumeClaim",
  namespaced: true,
};

export const persistentVolumes: Handle<PersistentVolume> = {
  group: "",
  version: "v1",
  plural: "persistentvolumes",
  kind: "PersistentVolume",
  namespaced: false,
};

function storage<T extends ApiObject>(domain: Domain, plural: string, kind: string): Handle<T> {
  return {
    group: resolve("storage.{api}", domain),
    version: "v1",
    plural,
    kind,
    namespaced: false,
  };
}

export function volumeAttributesClasses(domain: Domain): Handle {
  return storage(domain, "volumeattributesclasses", "VolumeAttributesClass");
}

export function storageClasses(domain: Domain): Handle<StorageClass> {
  return storage(domain, "storageclasses", "StorageClass");
}

export function volumeAttachments(domain: Domain): Handle<VolumeAttachment> {
  return storage(domain, "volumeattachments", "VolumeAttachment");
}

export function csiDrivers(domain: Domain): Handle<CsiDriver> {
  return storage(domain, "csidrivers", "CSIDriver");
}
