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
  mergedBy,
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
  "Reference to the owner of an object. The owner must be in the same namespace or be " +
    "cluster-scoped.",
  {
    apiVersion: required(5, string, "API group and version of the owner."),
    kind: required(1, string, "Kind of the owning object."),
    name: required(3, string, "Name of the owning object."),
    uid: required(
      4,
      uid,
      "UID of the owner, which distinguishes it from later objects of the same name.",
    ),
    controller: pointer(
      6,
      bool,
      "Whether the owner is the managing controller. At most one reference can set it.",
    ),
    blockOwnerDeletion: pointer(
      7,
      bool,
      "Whether foreground deletion of the owner is blocked until this reference is removed. " +
        "Setting it requires permission to update the owner's finalizers. Defaults to false.",
    ),
  },
  { atomic: true },
);

const managedFieldsEntry = v1(
  "ManagedFieldsEntry",
  "Fields that a manager owns, by operation, version and subresource.",
  {
    manager: value(
      1,
      string,
      "Name of the manager: the parameter fieldManager of its requests, or its user agent.",
    ),
    operation: value(
      2,
      operationType,
      "Operation that created the entry: one of Apply (server-side apply), Update (any other " +
        "write).",
      { openApi: { enum: false } },
    ),
    apiVersion: value(3, string, "API version that the fields in fieldsV1 belong to."),
    time: pointer(
      4,
      time,
      "Time at which the entry was added, or the manager last added, changed or removed a field.",
    ),
    fieldsType: value(6, string, "Format of the field set: always FieldsV1."),
    fieldsV1: pointer(7, fieldsV1, "Set of fields that the manager owns."),
    subresource: value(
      8,
      string,
      "Subresource through which the fields were set. Empty for the object itself.",
    ),
  },
);

export const objectMeta = v1("ObjectMeta", "Metadata that all persisted objects have.", {
  name: value(
    1,
    string,
    "Name of the object, unique within its namespace among objects of the same resource. " +
      "Generated from generateName if empty. Immutable.",
  ),
  generateName: value(
    2,
    string,
    "Prefix from which the server generates a unique name, if name is empty, by appending five " +
      "random characters. Repeated collisions result in status 409.",
  ),
  namespace: value(
    3,
    string,
    "Namespace within which name must be unique. Empty for cluster-scoped objects. Immutable.",
  ),
  selfLink: value(4, string, "Deprecated: no longer set by the server."),
  uid: value(
    5,
    uid,
    "Identifier of the object that is unique in time and space, set by the server on creation. " +
      "Immutable.",
  ),
  resourceVersion: value(
    6,
    string,
    "Opaque version of the object, which changes with every write. Updates that include it " +
      "fail with status 409 if the object has changed since (optimistic concurrency). Set by " +
      "the server.",
  ),
  generation: value(
    7,
    int64,
    "Sequence number of the desired state, which the server increases when the specification " +
      "changes. Read-only.",
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
    "Time at which the object is to be deleted, set by the server when graceful deletion is " +
      "requested. It is removed once the time has passed and finalizers is empty. Read-only, " +
      "and cannot be unset.",
  ),
  deletionGracePeriodSeconds: pointer(
    10,
    int64,
    "Seconds for which the object may terminate gracefully. Set together with " +
      "deletionTimestamp, and can only be shortened. Read-only.",
  ),
  labels: value(
    11,
    map(string),
    "Key-value pairs to organize and select objects. Keys are qualified names; values have at " +
      "most 63 characters.",
  ),
  annotations: value(
    12,
    map(string),
    "Key-value pairs for arbitrary metadata of tools, which selectors cannot query. At most " +
      "256 KiB in total.",
  ),
  ownerReferences: value(
    13,
    list(ownerReference),
    "Objects that own this object, which is garbage-collected when all of them have been " +
      "deleted. At most one can be the managing controller.",
    mergedBy("uid"),
  ),
  finalizers: value(
    14,
    list(string),
    "Identifiers that must all be removed before the object is deleted, usually by the " +
      "components responsible for them. None can be added once deletionTimestamp is set.",
    {
      patchStrategy: ["merge"],
      listType: "set",
    },
  ),
  managedFields: value(
    17,
    list(managedFieldsEntry),
    "Fields by the manager, version and operation that set them, tracked by the server for " +
      "server-side apply. Clients usually need not set it; [{}] clears it.",
    {
      listType: "atomic",
    },
  ),
});

export type ObjectMeta = Infer<typeof objectMeta>;

export const listMeta = v1("ListMeta", "Metadata that all lists have.", {
  selfLink: value(1, string, "Deprecated: no longer set by the server."),
  resourceVersion: value(
    2,
    string,
    "Opaque version of the list, from which a watch can be started.",
  ),
  continue: value(
    3,
    string,
    "Token to get the next chunk of the list with the same parameters. Empty for the last " +
      "chunk. It expires after a few minutes.",
  ),
  remainingItemCount: pointer(
    4,
    int64,
    "Number of items after this chunk, an estimate. Absent if unknown, as for requests with a " +
      "selector.",
  ),
});

const labelSelectorRequirement = v1(
  "LabelSelectorRequirement",
  "Requirement on a label: key, operator and values.",
  {
    key: required(1, string, "Label key that the requirement applies to."),
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
  },
);

export const labelSelector = v1(
  "LabelSelector",
  "Label query over a set of objects. matchLabels and matchExpressions are ANDed. An empty " +
    "selector matches all objects, an absent one no objects.",
  {
    matchLabels: value(1, map(string), "Labels that must match, as key-value pairs."),
    matchExpressions: value(
      2,
      list(labelSelectorRequirement),
      "Label selector requirements, which are ANDed.",
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
    "Value of metadata.generation that the condition was set for. If it is lower than the " +
      "current one, the condition is out of date.",
  ),
  lastTransitionTime: required(4, time, "Time at which `status` last changed to another value."),
  reason: required(5, string, "Machine-readable CamelCase reason for the last transition."),
  message: required(6, string, "Human-readable message with details about the last transition."),
});

export type Condition = Infer<typeof condition>;
