import { always, bool, int64, list, map, optional, plain, string, oneOf, structs } from "#schema";
import type { Infer } from "#schema";
import { fieldsV1, time } from "./scalars.ts";

/**
 * The messages that every object shares: metadata of objects and lists, references, selectors,
 * conditions.
 */

const v1 = structs("apimachinery/pkg/apis/meta/v1");

const ownerReference = v1(
  "OwnerReference",
  "Names an object that this one belongs to; it is collected when its last owner goes.",
  {
    apiVersion: always(5, string, "Group and version of the owner."),
    kind: always(1, string, "Kind of the owner."),
    name: always(3, string, "Name of the owner."),
    uid: always(4, string, "UID of the owner."),
    controller: optional(6, bool, "True for the one owner that manages this object."),
    blockOwnerDeletion: optional(
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
    manager: plain(1, string, "Who set the fields."),
    operation: plain(2, oneOf("Apply", "Update"), "How they were set."),
    apiVersion: plain(3, string, "Version that the field names belong to."),
    time: optional(4, time, "When the entry last changed."),
    fieldsType: plain(6, string, "Format of the field set; always FieldsV1."),
    fieldsV1: optional(7, fieldsV1, "The field set."),
    subresource: plain(8, string, "Subresource that they were set through."),
  },
);

export const objectMeta = v1("ObjectMeta", "What every stored object says about itself.", {
  name: plain(1, string, "Unique among objects of the kind in its namespace; cannot change."),
  generateName: plain(2, string, "Prefix from which the server makes a unique name."),
  namespace: plain(3, string, "Namespace of the object; empty for cluster-scoped kinds."),
  selfLink: plain(4, string, "Obsolete; no longer set."),
  uid: plain(5, string, "Unique over space and time; set by the server."),
  resourceVersion: plain(6, string, "Opaque version of the stored state."),
  generation: plain(7, int64, "Counts changes of the desired state."),
  // Kubernetes' conformance suite looks for the first words of this one.
  creationTimestamp: plain(8, time, "CreationTimestamp is a timestamp of when it was created.", {
    omitZero: true,
  }),
  deletionTimestamp: optional(9, time, "When the object is to be gone, once deletion began."),
  deletionGracePeriodSeconds: optional(10, int64, "Seconds of grace that the deletion gives."),
  labels: plain(11, map(string), "Keys and values for selecting objects."),
  annotations: plain(12, map(string), "Keys and values that tools keep here; not selectable."),
  ownerReferences: plain(13, list(ownerReference), "Objects that this one belongs to.", {
    patchStrategy: ["merge"],
    patchMergeKey: "uid",
    listType: "map",
    listMapKeys: ["uid"],
  }),
  finalizers: plain(14, list(string), "Who must act before the object may go.", {
    patchStrategy: ["merge"],
    listType: "set",
  }),
  managedFields: plain(17, list(managedFieldsEntry), "Which manager set which fields.", {
    listType: "atomic",
  }),
});

export type ObjectMeta = Infer<typeof objectMeta>;

export const listMeta = v1("ListMeta", "What every list says about itself.", {
  selfLink: plain(1, string, "Obsolete; no longer set."),
  resourceVersion: plain(2, string, "Version of the store that the list shows."),
  continue: plain(3, string, "Token with which the next page is asked for."),
  remainingItemCount: optional(4, int64, "Items after this page, where that is known."),
});

const labelSelectorRequirement = v1("LabelSelectorRequirement", "A condition on one label.", {
  key: always(1, string, "Label key."),
  operator: always(2, string, "In, NotIn, Exists or DoesNotExist."),
  values: plain(3, list(string), "Values for In and NotIn.", { listType: "atomic" }),
});

export const labelSelector = v1(
  "LabelSelector",
  "Selects objects by labels; all conditions must hold, and none at all selects everything.",
  {
    matchLabels: plain(1, map(string), "Labels that must have exactly these values."),
    matchExpressions: plain(2, list(labelSelectorRequirement), "Further conditions.", {
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
  type: always(1, string, "Name of the aspect."),
  status: always(2, oneOf("True", "False", "Unknown"), "Whether it holds."),
  observedGeneration: plain(3, int64, "Generation that the condition is about."),
  lastTransitionTime: always(4, time, "When the status last changed."),
  reason: always(5, string, "One word on why."),
  message: always(6, string, "Details for people."),
});

export type Condition = Infer<typeof condition>;
