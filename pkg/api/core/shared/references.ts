/** Structs of object references. */
import { required, nullablePointer, pointer, value, string, structs } from "#schema";
import { uid } from "#meta";

const v1 = structs("api/core/v1");

export const objectReference = v1(
  "ObjectReference",
  "Reference to an object, or to part of one. New APIs should use a more specific type.",
  {
    kind: value(1, string, "Kind of the referenced object."),
    namespace: value(2, string, "Namespace of the object. Empty for cluster-scoped objects."),
    name: value(3, string, "Name of the referenced object."),
    uid: value(4, uid, "UID of the referenced object."),
    apiVersion: value(5, string, "API group and version of the object, for example apps/v1."),
    resourceVersion: value(
      6,
      string,
      "Resource version of the referenced object, if the reference is to a specific one.",
    ),
    fieldPath: value(
      7,
      string,
      "Part of the object, if the reference is not to all of it, for example " +
        "`spec.containers{name}`.",
    ),
  },
  { atomic: true },
);

export const localObjectReference = v1(
  "LocalObjectReference",
  "Reference to an object in the same namespace.",
  {
    name: value(
      1,
      string,
      'Name of the referenced object. Defaults to "", which older clients may leave in ' +
        "place; it is almost never correct.",
      { default: "", openApi: { default: true } },
    ),
  },
  { atomic: true },
);

export const typedLocalObjectReference = v1(
  "TypedLocalObjectReference",
  "Reference to a typed object in the same namespace.",
  {
    apiGroup: nullablePointer(
      1,
      string,
      "API group of the referenced object. Absent for the core group.",
      {
        openApi: { required: false },
      },
    ),
    kind: required(2, string, "Kind of the referenced object."),
    name: required(3, string, "Name of the referenced object."),
  },
  { atomic: true },
);

export const typedObjectReference = v1(
  "TypedObjectReference",
  "Reference to a typed object, possibly in another namespace.",
  {
    apiGroup: nullablePointer(
      1,
      string,
      "API group of the referenced object. Absent for the core group.",
      {
        openApi: { required: false },
      },
    ),
    kind: required(2, string, "Kind of the referenced object."),
    name: required(3, string, "Name of the referenced object."),
    namespace: pointer(
      4,
      string,
      "Namespace of the referenced object. A namespace other than that of the claim requires a " +
        "ReferenceGrant there. Defaults to that of the claim. Alpha: requires the feature gate " +
        "CrossNamespaceVolumeDataSource.",
      {
        gate: "CrossNamespaceVolumeDataSource",
      },
    ),
  },
);

export const secretReference = v1(
  "SecretReference",
  "Reference to a Secret in any namespace.",
  {
    name: value(1, string, "Name of the Secret, unique within its namespace."),
    namespace: value(2, string, "Namespace of the Secret."),
  },
  { atomic: true },
);
