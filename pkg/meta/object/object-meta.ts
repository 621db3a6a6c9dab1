import {
  required,
  bool,
  int64,
  list,
  map,
  named,
  pointer,
  value,
  string,
  oneOf,
  structs,
} from "#schema";
import type { Infer, StringType } from "#schema";
import { fieldsV1, time, uid } from "../scalar/scalars.ts";

/**
 * The structs of meta/v1: metadata of objects and lists, references, selectors, conditions.
 */

const v1 = structs("apimachinery/pkg/apis/meta/v1");

const operationType: StringType<"Apply" | "Update"> = {
  ...oneOf("Apply", "Update"),
  goName: "v1.ManagedFieldsOperationType",
};

const ownerReference = v1(
  "OwnerReference",
  "Reference to an object that owns this one. When all owners are deleted, the garbage " +
    "collector deletes the dependent too. A namespaced owner must be in the same namespace.",
  {
    apiVersion: required(5, string, "API group and version of the owner."),
    kind: required(1, string, "Kind of the owning object."),
    name: required(3, string, "Name of the owning object."),
    uid: required(4, uid, "UID of the owner. It must match, since a name may be reused."),
    controller: pointer(
      6,
      bool,
      "Whether the owner is the controller that manages this object. At most one reference " +
        "may set it.",
    ),
    blockOwnerDeletion: pointer(
      7,
      bool,
      "Whether a foreground deletion of the owner waits until this object is gone. Setting " +
        "it needs permission to update the owner's finalizers. Defaults to false.",
    ),
  },
  { atomic: true },
);

const managedFieldsEntry = v1(
  "ManagedFieldsEntry",
  "Fields that one manager set through one operation and version.",
  {
    manager: value(
      1,
      string,
      "Name of the manager: the fieldManager parameter, or the user agent.",
    ),
    operation: value(
      2,
      operationType,
      "Operation that created the entry: one of Apply (server-side apply), Update (any other " +
        "write).",
      { openApi: { enum: false } },
    ),
    apiVersion: value(3, string, "API version to which the paths in fieldsV1 refer."),
    time: pointer(
      4,
      time,
      "Time at which a field was last added, changed or removed by the manager.",
    ),
    fieldsType: value(6, string, "Format of the set of fields: always FieldsV1."),
    fieldsV1: pointer(7, fieldsV1, "Set of fields that the manager owns."),
    subresource: value(
      8,
      string,
      "Subresource through which the fields were set. Empty for the main resource.",
    ),
  },
);

export const objectMeta = v1("ObjectMeta", "Metadata that every persisted object has.", {
  name: value(
    1,
    string,
    "Name of the object, unique per resource within its namespace. Generated from " +
      "generateName if empty. Immutable.",
  ),
  generateName: value(
    2,
    string,
    "Prefix to which the server appends five random characters to form the name, if name " +
      "is empty. After a collision it retries, then responds 409.",
  ),
  namespace: value(
    3,
    string,
    "Namespace of the object. Must be empty for cluster-scoped objects. Immutable.",
  ),
  selfLink: value(4, string, "Deprecated: no longer set by the server."),
  uid: value(
    5,
    uid,
    "Unique identifier across space and time, assigned by the server on creation. Immutable.",
  ),
  resourceVersion: value(
    6,
    string,
    "Opaque version of the object, which changes with every write. Send it back to make an " +
      "update fail with 409 if the object has changed meanwhile.",
  ),
  generation: value(
    7,
    int64,
    "Sequence number of the desired state, increased by the server with each change of the " +
      "specification.",
  ),
  // The conformance suite searches for the first words of this description.
  creationTimestamp: value(
    8,
    time,
    "CreationTimestamp is a timestamp of when the server created the object, in UTC. Read-only.",
    {
      omitZero: true,
    },
  ),
  deletionTimestamp: pointer(
    9,
    time,
    "Time after which the object is deleted, set by the server on a graceful deletion. " +
      "Finalizers may delay it. Read-only, and cannot be unset.",
  ),
  deletionGracePeriodSeconds: pointer(
    10,
    int64,
    "Seconds that the object may take to terminate. Set together with deletionTimestamp, " +
      "and may only be shortened. Read-only.",
  ),
  labels: value(
    11,
    map(string),
    "Key-value pairs to organize and select objects. Values have at most 63 characters.",
  ),
  annotations: value(
    12,
    map(string),
    "Key-value pairs for arbitrary data of tools, at most 256 KiB in total. Not selectable.",
  ),
  ownerReferences: value(
    13,
    list(ownerReference),
    "Objects that own this one. It is garbage-collected when all of them are deleted. At " +
      "most one may be the controller.",
    {
      patchStrategy: ["merge"],
      patchMergeKey: "uid",
      listType: "map",
      listMapKeys: ["uid"],
    },
  ),
  finalizers: value(
    14,
    list(string),
    "Identifiers that must all be removed before the object is deleted. No more can be " +
      "added once deletion has begun.",
    {
      patchStrategy: ["merge"],
      listType: "set",
    },
  ),
  managedFields: value(
    17,
    list(managedFieldsEntry),
    "Fields and their managers, tracked for server-side apply. Clients normally need not " +
      "set it; [{}] clears it.",
    {
      listType: "atomic",
    },
  ),
});

export type ObjectMeta = Infer<typeof objectMeta>;

export const listMeta = v1("ListMeta", "Metadata that every list has.", {
  selfLink: value(1, string, "Deprecated: no longer set by the server."),
  resourceVersion: value(
    2,
    string,
    "Opaque version of the collection, from which a watch can start.",
  ),
  continue: value(
    3,
    string,
    "Token for fetching the next page with the same parameters. Empty on the last page. It " +
      "expires after a few minutes.",
  ),
  remainingItemCount: pointer(
    4,
    int64,
    "Number of items after this page. Absent when unknown, as for lists with selectors; " +
      "not guaranteed to be exact.",
  ),
});

const labelSelectorRequirement = v1("LabelSelectorRequirement", "Condition on one label.", {
  key: required(1, string, "Key of the label to compare."),
  operator: required(
    2,
    named("v1.LabelSelectorOperator"),
    "Relationship of the key to the values: In, NotIn, Exists or DoesNotExist.",
  ),
  values: value(
    3,
    list(string),
    "Values to compare with. Must be nonempty for In and NotIn, and empty for Exists and " +
      "DoesNotExist.",
    { listType: "atomic" },
  ),
});

export const labelSelector = v1(
  "LabelSelector",
  "Selects objects by their labels. All conditions must hold. An empty selector matches " +
    "every object, an absent one none.",
  {
    matchLabels: value(
      1,
      map(string),
      "Labels that an object must have with exactly these values.",
    ),
    matchExpressions: value(
      2,
      list(labelSelectorRequirement),
      "Conditions on labels beyond equality, all of which must hold.",
      {
        listType: "atomic",
      },
    ),
  },
  { atomic: true },
);

export type LabelSelector = Infer<typeof labelSelector>;

/**
 * Kinds validate their conditions themselves, in Kubernetes' order; an empty message, for example, is
 * valid.
 */
export const condition = v1("Condition", "One observed condition of an object.", {
  type: required(1, string, "Type of the condition, in CamelCase or as a domain-prefixed name."),
  status: required(
    2,
    named("v1.ConditionStatus", "True", "False", "Unknown"),
    "Status of the condition: one of True, False, Unknown.",
    { openApi: { enum: false } },
  ),
  observedGeneration: value(
    3,
    int64,
    "Value of metadata.generation that the condition describes. If it is lower than the " +
      "current one, the condition is out of date.",
  ),
  lastTransitionTime: required(4, time, "Time at which `status` last changed to another value."),
  reason: required(5, string, "Machine-readable CamelCase reason for the last transition."),
  message: required(6, string, "Human-readable message with details about the last transition."),
});

export type Condition = Infer<typeof condition>;
