/** Volume kinds, as far as their controllers know them. */
import type { ApiObject, Handle } from "#client";
import { type Domain, type LabelSelector, resolve } from "#meta";

/** Amounts as texts of quantities. */
type Capacity = Readonly<Record<string, string>>;

export interface PersistentVolumeClaim extends ApiObject {
  readonly spec?: {
    readonly accessModes?: readonly string[];
    readonly resources?: { readonly requests?: Capacity };
    readonly selector?: LabelSelector;
    readonly storageClassName?: string;
    readonly volumeAttributesClassName?: string;
    readonly volumeMode?: string;
    readonly volumeName?: string;
  };
  readonly status?: {
    readonly phase?: "Pending" | "Bound" | "Lost";
    readonly accessModes?: readonly string[];
    readonly capacity?: Capacity;
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
    readonly capacity?: Capacity;
    readonly claimRef?: ClaimRef;
    readonly csi?: { readonly driver: string; readonly volumeHandle: string };
    readonly hostPath?: { readonly path: string };
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

export function volumeAttributesClasses(domain: Domain): Handle {
  const names = { plural: "volumeattributesclasses", kind: "VolumeAttributesClass" };
  return { group: resolve("storage.{api}", domain), version: "v1", ...names, namespaced: false };
}

export function storageClasses(domain: Domain): Handle<StorageClass> {
  const names = { plural: "storageclasses", kind: "StorageClass" };
  return { group: resolve("storage.{api}", domain), version: "v1", ...names, namespaced: false };
}
