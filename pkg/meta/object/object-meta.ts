import { required, bool, int64, list, map, pointer, value, string, oneOf, structs } from "#schema";
import type { Infer } from "#schema";
import { fieldsV1, time } from "../scalar/scalars.ts";

/**
 * The messages that every object shares: metadata of objects and lists, references, selectors,
 * conditions.
 */

const v1 = structs("apimachinery/pkg/apis/meta/v1");

const ownerReference = v1(
  "OwnerReference",
  "Names an object that this one belongs to; it is collected when its last owner goes.",
  {
    apiVersion: required(5, string, "Group and version of the owner."),
    kind: required(1, string, "Kind of the owner."),
    name: required(3, string, "Name of the owner."),
    uid: required(4, string, "UID of the owner."),
    controller: pointer(6, bool, "True for the one owner that manages this object."),
    blockOwnerDeletion: pointer(
      7,
      bool,
      "True where a foreground deletion of the owner waits for this object.",
    ),
  },
  { atomic: true },
);

const managedFieldsEntry = v1(
  "ManagedFieldsEntry",
  "The fields that one manager has set, for server-side apply.",
  {
    manager: value(1, string, "Who set the fields."),
    operation: value(2, oneOf("Apply", "Update"), "How they were set."),
    apiVersion: value(3, string, "Version that the field names belong to."),
    time: pointer(4, time, "When the entry last changed."),
    fieldsType: value(6, string, "Format of the field set; always FieldsV1."),
    fieldsV1: pointer(7, fieldsV1, "The field set."),
    subresource: value(8, string, "Subresource that they were set through."),
  },
);

export const objectMeta = v1("ObjectMeta", "What every stored object says about itself.", {
  name: value(1, string, "Unique among objects of the kind in its namespace; cannot change."),
  generateName: value(2, string, "Prefix from which the server makes a unique name."),
  namespace: value(3, string, "Namespace of the object; empty for cluster-scoped kinds."),
  selfLink: value(4, string, "Obsolete; no longer set."),
  uid: value(5, string, "Unique over space and time; set by the server."),
  resourceVersion: value(6, string, "Opaque version of the stored state."),
  generation: value(7, int64, "Counts changes of the desired state."),
  // Kubernetes' conformance suite looks for the first words of this one.
  creationTimestamp: value(8, time, "CreationTimestamp is a timestamp of when it was created.", {
    omitZero: true,
  }),
  deletionTimestamp: pointer(9, time, "When the object is to be gone, once deletion began."),
  deletionGracePeriodSeconds: pointer(10, int64, "Seconds of grace that the deletion gives."),
  labels: value(11, map(string), "Keys and values for selecting objects."),
  annotations: value(12, map(string), "Keys and values that tools keep here; not selectable."),
  ownerReferences: value(13, list(ownerReference), "Objects that this one belongs to.", {
    patchStrategy: ["merge"],
    patchMergeKey: "uid",
    listType: "map",
    listMapKeys: ["uid"],
  }),
  finalizers: value(14, list(string), "Who must act before the object may go.", {
    patchStrategy: ["merge"],
    listType: "set",
  }),
  managedFields: value(17, list(managedFieldsEntry), "Which manager set which fields.", {
    listType: "atomic",
  }),
});

export type ObjectMeta = Infer<typeof objectMeta>;

export const listMeta = v1("ListMeta", "What every list says about itself.", {
  selfLink: value(1, string, "Obsolete; no longer set."),
  resourceVersion: value(2, string, "Version of the store that the list shows."),
  continue: value(3, string, "Token with which the next page is asked for."),
  remainingItemCount: pointer(4, int64, "Items after this page, where that is known."),
});

const labelSelectorRequirement = v1("LabelSelectorRequirement", "A condition on one label.", {
  key: required(1, string, "Label key."),
  operator: required(2, string, "In, NotIn, Exists or DoesNotExist."),
  values: value(3, list(string), "Values for In and NotIn.", { listType: "atomic" }),
});

export const labelSelector = v1(
  "LabelSelector",
  "Selects objects by labels; all conditions must hold, and none at all selects everything.",
  {
    matchLabels: value(1, map(string), "Labels that must have exactly these values."),
    matchExpressions: value(2, list(labelSelectorRequirement), "Further conditions.", {
      listType: "atomic",
    }),
  },
  { atomic: true },
);

export type LabelSelector = Infer<typeof labelSelector>;

/**
 * Kinds check their conditions themselves, in Kubernetes' order: an empty message, for one, is
 * fine.
 */
export const condition = v1("Condition", "One aspect of the state of an object.", {
  type: required(1, string, "Name of the aspect."),
  status: required(2, oneOf("True", "False", "Unknown"), "Whether it holds."),
  observedGeneration: value(3, int64, "Generation that the condition is about."),
  lastTransitionTime: required(4, time, "When the status last changed."),
  reason: required(5, string, "One word on why."),
  message: required(6, string, "Details for people."),
});

export type Condition = Infer<typeof condition>;
