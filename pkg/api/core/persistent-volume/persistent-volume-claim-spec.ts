/** PersistentVolumeClaimSpec, also in templates of pods and StatefulSets. */
import { type Infer, required, list, named, pointer, value, string, structs } from "#schema";
import { labelSelector, objectMeta } from "#meta";
import { typedLocalObjectReference, typedObjectReference } from "../shared/references.ts";
import { volumeResourceRequirements } from "../shared/resources.ts";

const v1 = structs("api/core/v1");

export const persistentVolumeClaimSpec = v1(
  "PersistentVolumeClaimSpec",
  "Desired characteristics of the volume. Immutable after creation, except for the storage " +
    "request and volumeAttributesClassName of bound claims.",
  {
    accessModes: value(
      1,
      list(
        named(
          "v1.PersistentVolumeAccessMode",
          "ReadWriteOnce",
          "ReadOnlyMany",
          "ReadWriteMany",
          "ReadWriteOncePod",
        ),
      ),
      "Access modes that the volume must support: ReadWriteOnce (one node), ReadOnlyMany, " +
        "ReadWriteMany, ReadWriteOncePod (one pod; cannot be combined with the others). " +
        "Required. Immutable.",
      { listType: "atomic" },
    ),
    selector: pointer(
      4,
      labelSelector,
      "Label query over the PersistentVolumes to consider for binding. Claims with a selector " +
        "are not provisioned dynamically. Immutable.",
    ),
    resources: value(2, volumeResourceRequirements, "Minimum resources that the volume must have."),
    volumeName: value(
      3,
      string,
      "Name of the PersistentVolume bound to the claim. Set by the control plane, or by the " +
        "user to request a specific volume. Immutable once set.",
    ),
    storageClassName: pointer(
      5,
      string,
      'StorageClass required by the claim. "" requests a volume without a class; if absent, ' +
        "admission sets the default class. Immutable once set.",
    ),
    volumeMode: pointer(
      6,
      named("v1.PersistentVolumeMode", "Block", "Filesystem"),
      "Mode in which the volume is consumed: one of Filesystem (mounted), Block (raw device). " +
        "Defaults to Filesystem. Immutable.",
    ),
    dataSource: pointer(
      7,
      typedLocalObjectReference,
      "VolumeSnapshot or PersistentVolumeClaim in the same namespace from which to populate " +
        "the volume. Kept equal to dataSourceRef, unless that names a namespace. References to " +
        "other kinds are silently dropped. Immutable.",
    ),
    dataSourceRef: pointer(
      8,
      typedObjectReference,
      "Object from which to populate the volume: a VolumeSnapshot, a PersistentVolumeClaim, or " +
        "any kind that a volume populator supports. Supersedes dataSource, which is kept equal " +
        "to it; invalid references are rejected instead of dropped. Immutable.",
    ),
    volumeAttributesClassName: pointer(
      9,
      string,
      "VolumeAttributesClass whose attributes the CSI driver applies to the volume. Can be " +
        "changed after creation, but not unset once a class is in effect.",
    ),
  },
);

export const persistentVolumeClaimTemplate = v1(
  "PersistentVolumeClaimTemplate",
  "Template of the PersistentVolumeClaim for an ephemeral volume.",
  {
    metadata: value(
      1,
      objectMeta,
      "Labels and annotations of the PersistentVolumeClaim. Other metadata is rejected.",
    ),
    spec: required(
      2,
      persistentVolumeClaimSpec,
      "Specification of the PersistentVolumeClaim, copied unchanged.",
    ),
  },
);

export type PersistentVolumeClaimSpec = Infer<typeof persistentVolumeClaimSpec>;
