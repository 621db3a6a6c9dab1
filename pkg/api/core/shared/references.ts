/** How objects point to each other. */
import { required, nullablePointer, pointer, value, string, structs } from "#schema";

const v1 = structs("api/core/v1");

export const objectReference = v1(
  "ObjectReference",
  "Points to an object, or to a part of one.",
  {
    kind: value(1, string, "Kind of the object."),
    namespace: value(2, string, "Its namespace."),
    name: value(3, string, "Its name."),
    uid: value(4, string, "Its UID."),
    apiVersion: value(5, string, "Its group and version."),
    resourceVersion: value(6, string, "The version of it that is meant."),
    fieldPath: value(7, string, "The part of it that is meant, as in `spec.containers{name}`."),
  },
  { atomic: true },
);

export const localObjectReference = v1(
  "LocalObjectReference",
  "Points to an object in the same namespace.",
  {
    name: value(1, string, "Name of the object.", { default: "" }),
  },
  { atomic: true },
);

export const typedLocalObjectReference = v1(
  "TypedLocalObjectReference",
  "Points to an object of any kind in the same namespace.",
  {
    apiGroup: nullablePointer(1, string, "Group of the object; absent means core."),
    kind: required(2, string, "Kind of the object."),
    name: required(3, string, "Name of the object."),
  },
  { atomic: true },
);

export const typedObjectReference = v1("TypedObjectReference", "Points to an object of any kind.", {
  apiGroup: nullablePointer(1, string, "Group of the object; absent means core."),
  kind: required(2, string, "Kind of the object."),
  name: required(3, string, "Name of the object."),
  namespace: pointer(4, string, "Namespace of the object; absent means the same.", {
    gate: "CrossNamespaceVolumeDataSource",
  }),
});

export const secretReference = v1(
  "SecretReference",
  "Points to a Secret in any namespace.",
  {
    name: value(1, string, "Name of the Secret."),
    namespace: value(2, string, "Namespace of the Secret."),
  },
  { atomic: true },
);
