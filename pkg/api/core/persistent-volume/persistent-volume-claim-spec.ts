/** What a claim asks for, also as a template within pods and StatefulSets. */
import { type Infer, required, list, named, pointer, value, string, structs } from "#schema";
import { labelSelector, objectMeta } from "#meta";
import { typedLocalObjectReference, typedObjectReference } from "../shared/references.ts";
import { volumeResourceRequirements } from "../shared/resources.ts";

const v1 = structs("api/core/v1");

export const persistentVolumeClaimSpec = v1(
  "PersistentVolumeClaimSpec",
  "What storage is asked for.",
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
      "Ways in which the volume must be mountable.",
      { listType: "atomic" },
    ),
    selector: pointer(4, labelSelector, "Which volumes may be bound, by label."),
    resources: value(2, volumeResourceRequirements, "Least and largest amount of storage."),
    volumeName: value(3, string, "The volume that is bound."),
    storageClassName: pointer(5, string, "Class of storage; empty means a volume without a class."),
    volumeMode: pointer(
      6,
      named("v1.PersistentVolumeMode", "Block", "Filesystem"),
      "Filesystem, which is the default, or Block.",
    ),
    dataSource: pointer(
      7,
      typedLocalObjectReference,
      "Snapshot or claim that the volume starts as a copy of.",
    ),
    dataSourceRef: pointer(8, typedObjectReference, "Object of any kind that fills the volume."),
    volumeAttributesClassName: pointer(9, string, "Class of attributes that can be changed later."),
  },
);

export const persistentVolumeClaimTemplate = v1(
  "PersistentVolumeClaimTemplate",
  "A claim to be made.",
  {
    metadata: value(1, objectMeta, "Labels and annotations of the claim."),
    spec: required(2, persistentVolumeClaimSpec, "What the claim asks for."),
  },
);

export type PersistentVolumeClaimSpec = Infer<typeof persistentVolumeClaimSpec>;
