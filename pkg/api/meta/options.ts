/** Request options, sent as body or query parameters. */
import { bool, int64, list, named, pointer, value, string, structs } from "#schema";

const v1 = structs("apimachinery/pkg/apis/meta/v1");

const dryRun = (number: number) =>
  value(
    number,
    list(string),
    "Dry run: with `All`, the only valid value, the request is processed in full but nothing " +
      "is persisted.",
    { listType: "atomic" },
  );

const fieldManager = (number: number) =>
  value(
    number,
    string,
    "Name of the manager for managedFields, at most 128 printable characters. Defaults to the " +
      "user agent.",
  );

const fieldValidation = (number: number) =>
  value(
    number,
    string,
    "Handling of unknown and duplicate fields: Ignore (drop them silently), Warn (return a " +
      "warning for each) or Strict (fail with status 400). Defaults to Warn.",
  );

export const preconditions = v1(
  "Preconditions",
  "Preconditions that an object must fulfill for an operation.",
  {
    uid: pointer(1, string, "UID that the object is required to have."),
    resourceVersion: pointer(2, string, "Resource version that the object is required to have."),
  },
);

export const deleteOptions = v1("DeleteOptions", "Options of a delete request.", {
  gracePeriodSeconds: pointer(
    1,
    int64,
    "Seconds before the object is deleted; 0 deletes it immediately. Must not be negative. " +
      "Defaults to the grace period of the object or its kind.",
  ),
  preconditions: pointer(
    2,
    preconditions,
    "Preconditions that the object must fulfill to be deleted. Otherwise, the server responds " +
      "with status 409.",
  ),
  orphanDependents: pointer(
    3,
    bool,
    "Deprecated: use propagationPolicy. Whether dependents are orphaned; true adds the " +
      "finalizer `orphan`. Mutually exclusive with propagationPolicy.",
  ),
  propagationPolicy: pointer(
    4,
    named("v1.DeletionPropagation", "Orphan", "Background", "Foreground"),
    "Handling of dependents by the garbage collector. One of Orphan (keep them), Background " +
      "(delete them after the object), Foreground (delete them before the object). Defaults to " +
      "the policy in the object's finalizers, otherwise to that of the resource.",
    { openApi: { enum: false } },
  ),
  dryRun: dryRun(5),
  ignoreStoreReadErrorWithClusterBreakingPotential: pointer(
    6,
    bool,
    "Whether to delete an object that cannot be read from storage, ignoring finalizers, " +
      "preconditions and admission. Unsafe: it can break the cluster. Defaults to false. " +
      "Alpha: requires the feature gate AllowUnsafeMalformedObjectDeletion.",
  ),
});

/** DeleteOptions inside of another object: they have apiVersion and kind, in JSON only. */
export const embeddedDeleteOptions = v1(
  "DeleteOptions",
  deleteOptions.doc,
  {
    kind: value(0, string, "Kind of the options: DeleteOptions. Optional."),
    apiVersion: value(0, string, "API version of the options, for example v1. Optional."),
    ...deleteOptions.fields,
  },
  { kind: { group: "", version: "v1", kind: "DeleteOptions" } },
);

export const createOptions = v1("CreateOptions", "Options of a create request.", {
  dryRun: dryRun(1),
  fieldManager: fieldManager(3),
  fieldValidation: fieldValidation(4),
});

export const updateOptions = v1("UpdateOptions", "Options of an update request.", {
  dryRun: dryRun(1),
  fieldManager: fieldManager(2),
  fieldValidation: fieldValidation(3),
});

export const patchOptions = v1("PatchOptions", "Options of a patch request.", {
  dryRun: dryRun(1),
  force: pointer(
    2,
    bool,
    "Whether to force the apply: acquire fields that other managers own instead of failing " +
      "with a conflict. Only for apply patches. Defaults to false.",
  ),
  fieldManager: value(
    3,
    string,
    "Name of the manager for managedFields, at most 128 printable characters. Required for " +
      "apply patches. Otherwise, defaults to the user agent.",
  ),
  fieldValidation: fieldValidation(4),
});

export const getOptions = v1("GetOptions", "Options of a request for a single object.", {
  resourceVersion: value(
    1,
    string,
    "Minimum version of the object: 0 for any version, as from a cache, and empty for the most " +
      "recent one.",
  ),
});

export const listOptions = v1("ListOptions", "Options of a list or watch request.", {
  labelSelector: value(
    1,
    string,
    "Restricts the list of returned objects by labels, for example `app=web,tier!=front`. " +
      "Defaults to everything.",
  ),
  fieldSelector: value(
    2,
    string,
    "Restricts the list of returned objects by fields, for example `metadata.name=web`. Only " +
      "some fields can be selected. Defaults to everything.",
  ),
  watch: value(
    3,
    bool,
    "Whether to watch for changes from resourceVersion on, returned as a stream of events, " +
      "instead of listing the objects. Defaults to false.",
  ),
  allowWatchBookmarks: value(
    9,
    bool,
    "Whether a watch can include events of type BOOKMARK, which only update the resource " +
      "version. Ignored for lists.",
  ),
  resourceVersion: value(
    4,
    string,
    "Constraint on the version of the result, as resourceVersionMatch says. For a watch, the " +
      "version from which it starts.",
  ),
  resourceVersionMatch: value(
    10,
    named("v1.ResourceVersionMatch", "NotOlderThan", "Exact"),
    "How resourceVersion is applied to lists: one of NotOlderThan, Exact. Not allowed without " +
      "resourceVersion.",
  ),
  timeoutSeconds: pointer(
    5,
    int64,
    "Timeout of the request in seconds, regardless of activity. For watches, the server " +
      "chooses one by default.",
  ),
  limit: value(
    7,
    int64,
    "Maximum number of items to return. If there are more, metadata.continue is set. Unlimited " +
      "by default. Ignored for watches.",
  ),
  continue: value(
    8,
    string,
    "Continue token of the previous chunk. Other parameters must be identical, except for " +
      "resourceVersion, which must be unset. An expired token results in status 410.",
  ),
  sendInitialEvents: pointer(
    11,
    bool,
    "Whether a watch begins with ADDED events for all existing objects and then an annotated " +
      "bookmark. Requires resourceVersionMatch NotOlderThan. Beta: feature gate WatchList.",
  ),
});
