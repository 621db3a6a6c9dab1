/** How objects point to each other. */
import { always, nullable, optional, plain, string, structs } from "#schema";

const v1 = structs("api/core/v1");

export const objectReference = v1(
  "ObjectReference",
  "Points to an object, or to a part of one.",
  {
    kind: plain(1, string, "Kind of the object."),
    namespace: plain(2, string, "Its namespace."),
    name: plain(3, string, "Its name."),
    uid: plain(4, string, "Its UID."),
    apiVersion: plain(5, string, "Its group and version."),
    resourceVersion: plain(6, string, "The version of it that is meant."),
    fieldPath: plain(7, string, "The part of it that is meant, as in `spec.containers{name}`."),
  },
  { atomic: true },
);

export const localObjectReference = v1(
  "LocalObjectReference",
  "Points to an object in the same namespace.",
  {
    name: plain(1, string, "Name of the object.", { default: "" }),
  },
  { atomic: true },
);

export const typedLocalObjectReference = v1(
  "TypedLocalObjectReference",
  "Points to an object of any kind in the same namespace.",
  {
    apiGroup: nullable(1, string, "Group of the object; absent means core."),
    kind: always(2, string, "Kind of the object."),
    name: always(3, string, "Name of the object."),
  },
  { atomic: true },
);

export const typedObjectReference = v1("TypedObjectReference", "Points to an object of any kind.", {
  apiGroup: nullable(1, string, "Group of the object; absent means core."),
  kind: always(2, string, "Kind of the object."),
  name: always(3, string, "Name of the object."),
  namespace: optional(4, string, "Namespace of the object; absent means the same.", {
    gate: "CrossNamespaceVolumeDataSource",
  }),
});

export const secretReference = v1(
  "SecretReference",
  "Points to a Secret in any namespace.",
  {
    name: plain(1, string, "Name of the Secret."),
    namespace: plain(2, string, "Namespace of the Secret."),
  },
  { atomic: true },
);
