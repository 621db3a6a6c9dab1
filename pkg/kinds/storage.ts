/** Volumes, claims, and what provisions and attaches them. */
import { createHash } from "node:crypto";
import type { ApiObject, Handle } from "#client";
import { type Domain, type LabelSelector, resolve } from "#meta";
import type { Amounts } from "#quota";
import type { Condition } from "./core.ts";
import type { NodeSelector } from "./node.ts";

export interface ClaimCondition extends Condition {
  readonly lastProbeTime?: string;
}

/** What the volume of a claim begins with. */
export interface DataSource {
  readonly apiGroup?: string | null;
  readonly kind: string;
  readonly name: string;
}

export interface PersistentVolumeClaim extends ApiObject {
  readonly spec?: {
    readonly accessModes?: readonly string[];
    readonly dataSource?: DataSource;
    readonly dataSourceRef?: DataSource & { readonly namespace?: string };
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
    /** Size that an expansion is for, and how far it has come. */
    readonly allocatedResources?: Amounts;
    readonly allocatedResourceStatuses?: Readonly<Record<string, string>>;
    readonly conditions?: readonly ClaimCondition[];
    readonly currentVolumeAttributesClassName?: string;
    readonly modifyVolumeStatus?: {
      readonly status?: string;
      readonly targetVolumeAttributesClassName?: string;
    };
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

/** A volume of a CSI driver. */
export interface CsiVolumeSource {
  readonly driver: string;
  readonly volumeHandle: string;
  readonly fsType?: string;
  readonly volumeAttributes?: Readonly<Record<string, string>>;
}

export interface PersistentVolume extends ApiObject {
  readonly spec?: {
    readonly accessModes?: readonly string[];
    readonly capacity?: Amounts;
    readonly claimRef?: ClaimRef;
    readonly csi?: CsiVolumeSource;
    readonly hostPath?: { readonly path: string };
    readonly mountOptions?: readonly string[];
    readonly awsElasticBlockStore?: { readonly volumeID: string };
    readonly azureDisk?: { readonly diskURI: string };
    readonly cinder?: { readonly volumeID: string };
    readonly gcePersistentDisk?: { readonly pdName: string };
    readonly portworxVolume?: { readonly volumeID: string };
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
  readonly parameters?: Readonly<Record<string, string>>;
  readonly reclaimPolicy?: string;
  readonly mountOptions?: readonly string[];
  readonly allowVolumeExpansion?: boolean;
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
    readonly detachError?: { readonly message?: string };
  };
}

export interface CsiDriver extends ApiObject {
  readonly spec?: {
    readonly attachRequired?: boolean;
    readonly podInfoOnMount?: boolean;
    readonly storageCapacity?: boolean;
    readonly fsGroupPolicy?: string;
    readonly volumeLifecycleModes?: readonly string[];
  };
}

export interface VolumeAttributesClass extends ApiObject {
  readonly driverName: string;
  readonly parameters?: Readonly<Record<string, string>>;
}

/** A CSI driver on a node. */
export interface CsiNodeDriver {
  readonly name: string;
  /** Name of the node in the words of the driver. */
  readonly nodeID: string;
  readonly topologyKeys?: readonly string[] | null;
  readonly allocatable?: { readonly count?: number };
}

export interface CsiNode extends ApiObject {
  readonly spec?: { readonly drivers?: readonly CsiNodeDriver[] | null };
}

export interface CsiStorageCapacity extends ApiObject {
  readonly storageClassName: string;
  readonly nodeTopology?: LabelSelector;
  readonly capacity?: string;
  readonly maximumVolumeSize?: string;
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

export function volumeAttributesClasses(domain: Domain): Handle<VolumeAttributesClass> {
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

export function csiNodes(domain: Domain): Handle<CsiNode> {
  return storage(domain, "csinodes", "CSINode");
}

export function csiStorageCapacities(domain: Domain): Handle<CsiStorageCapacity> {
  const names = { plural: "csistoragecapacities", kind: "CSIStorageCapacity" };
  return { group: resolve("storage.{api}", domain), version: "v1", ...names, namespaced: true };
}

/** Name of the VolumeAttachment of a CSI volume on a node. */
export function attachmentName(driver: string, handle: string, node: string): string {
  return `csi-${createHash("sha256").update(`${handle}${driver}${node}`).digest("hex")}`;
}

/** `{label}/csi/DRIVER^HANDLE`, the name of a CSI volume in the status of nodes. */
export function uniqueVolumeName(driver: string, handle: string, domain: Domain): string {
  return `${resolve("{label}/csi/", domain)}${driver}^${handle}`;
}
