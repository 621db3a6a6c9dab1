/** PersistentVolumeClaimSpec, also in templates of pods and StatefulSets. */
import { type Infer, required, list, named, pointer, value, string, structs } from "#schema";
import { labelSelector, objectMeta } from "#meta";
import { typedLocalObjectReference, typedObjectReference } from "../shared/references.ts";
import { volumeResourceRequirements } from "../shared/resources.ts";

const v1 = structs("api/core/v1");

export const persistentVolumeClaimSpec = v1(
  "PersistentVolumeClaimSpec",
  "Storage that a claim requests. Mostly immutable; after binding only the storage " +
    "request and volumeAttributesClassName can change.",
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
        "ReadWriteMany, ReadWriteOncePod (one pod, excludes the others). Required. Immutable.",
      { listType: "atomic" },
    ),
    selector: pointer(
      4,
      labelSelector,
      "Labels that a PersistentVolume must have to be bound. Volumes are then not " +
        "provisioned dynamically. Immutable.",
    ),
    resources: value(2, volumeResourceRequirements, "Size of the requested storage."),
    volumeName: value(
      3,
      string,
      "PersistentVolume that the claim is bound to. Set by the control plane, or by the user " +
        "to request a certain volume.",
    ),
    storageClassName: pointer(
      5,
      string,
      'StorageClass that provisions the volume. "" requests a volume without class; when ' +
        "absent, admission fills in the default class. Immutable once set.",
    ),
    volumeMode: pointer(
      6,
      named("v1.PersistentVolumeMode", "Block", "Filesystem"),
      "How the volume is consumed: one of Filesystem (mounted), Block (raw device). Defaults " +
        "to Filesystem. Immutable.",
    ),
    dataSource: pointer(
      7,
      typedLocalObjectReference,
      "VolumeSnapshot or PersistentVolumeClaim in the same namespace that provides the " +
        "initial content. Kept equal to dataSourceRef unless that names a namespace. Other " +
        "kinds are dropped silently. Immutable.",
    ),
    dataSourceRef: pointer(
      8,
      typedObjectReference,
      "Object that provides the initial content, of any kind that a volume populator " +
        "supports. Takes the place of dataSource, which is filled in from it, and invalid " +
        "references are rejected rather than dropped. Immutable.",
    ),
    volumeAttributesClassName: pointer(
      9,
      string,
      "VolumeAttributesClass whose attributes the CSI driver applies to the volume. May be " +
        "changed later, but not reset to empty once set.",
    ),
  },
);

export const persistentVolumeClaimTemplate = v1(
  "PersistentVolumeClaimTemplate",
  "Template of the claim for an ephemeral volume.",
  {
    metadata: value(
      1,
      objectMeta,
      "Labels and annotations of the claim. Other metadata is rejected.",
    ),
    spec: required(2, persistentVolumeClaimSpec, "Specification that is copied into the claim."),
  },
);

export type PersistentVolumeClaimSpec = Infer<typeof persistentVolumeClaimSpec>;
