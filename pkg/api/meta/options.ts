/** Request options, sent as body or query parameters. */
import { bool, int64, list, named, pointer, value, string, structs } from "#schema";

const v1 = structs("apimachinery/pkg/apis/meta/v1");

const dryRun = (number: number) =>
  value(
    number,
    list(string),
    "`All` processes the request without storing anything. No other value is allowed.",
    { listType: "atomic" },
  );

const fieldManager = (number: number) =>
  value(
    number,
    string,
    "Name under which the changes are recorded in managedFields, at most 128 printable " +
      "characters. Defaults to the user agent.",
  );

const fieldValidation = (number: number) =>
  value(
    number,
    string,
    "Handling of unknown and duplicate fields: Ignore, Warn (send warnings) or Strict " +
      "(respond 400). Defaults to Warn.",
  );

export const preconditions = v1(
  "Preconditions",
  "Conditions that an object must meet for an operation; otherwise the server responds 409.",
  {
    uid: pointer(1, string, "UID that the object must have."),
    resourceVersion: pointer(2, string, "Resource version that the object must have."),
  },
);

export const deleteOptions = v1("DeleteOptions", "Options of a delete request.", {
  gracePeriodSeconds: pointer(
    1,
    int64,
    "Seconds until the object is deleted; 0 deletes immediately. Must not be negative. " +
      "Defaults to a value of the object or its kind.",
  ),
  preconditions: pointer(
    2,
    preconditions,
    "Conditions that the object must meet to be deleted. Otherwise the server responds 409.",
  ),
  orphanDependents: pointer(
    3,
    bool,
    "Deprecated: use propagationPolicy. Whether dependents are kept; true adds the finalizer " +
      "`orphan`. Mutually exclusive with propagationPolicy.",
  ),
  propagationPolicy: pointer(
    4,
    named("v1.DeletionPropagation", "Orphan", "Background", "Foreground"),
    "How dependents are handled. One of Orphan (keep them), Background (delete them " +
      "afterwards), Foreground (delete them before the object). Defaults to finalizers of " +
      "the object, or to a value of the kind.",
    { openApi: { enum: false } },
  ),
  dryRun: dryRun(5),
  ignoreStoreReadErrorWithClusterBreakingPotential: pointer(
    6,
    bool,
    "Whether to delete an object that cannot be read from storage, without preconditions, " +
      "finalizers and admission. Unsafe. Defaults to false. Alpha: requires the feature gate " +
      "AllowUnsafeMalformedObjectDeletion.",
  ),
});

/** DeleteOptions inside of another object: they have apiVersion and kind, in JSON only. */
export const embeddedDeleteOptions = v1(
  "DeleteOptions",
  deleteOptions.doc,
  {
    kind: value(0, string, "Kind of the options: DeleteOptions. May be omitted."),
    apiVersion: value(0, string, "API version of the options: v1. May be omitted."),
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
    "Whether to take over fields that other managers own. Only for apply patches; " +
      "conflicts are errors otherwise. Defaults to false.",
  ),
  fieldManager: value(
    3,
    string,
    "Name under which the changes are recorded in managedFields, at most 128 printable " +
      "characters. Required for apply patches. Defaults to the user agent otherwise.",
  ),
  fieldValidation: fieldValidation(4),
});

export const getOptions = v1("GetOptions", "Options of a request for a single object.", {
  resourceVersion: value(
    1,
    string,
    "Oldest version that may be returned: 0 for any version in the cache, empty for the " +
      "most recent one.",
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
    "Watch for changes to the described resources instead of listing them. Set " +
      "resourceVersion to choose the start. Defaults to false.",
  ),
  allowWatchBookmarks: value(
    9,
    bool,
    "Whether the watch may contain BOOKMARK events, which only carry a resource version. " +
      "Ignored for lists.",
  ),
  resourceVersion: value(
    4,
    string,
    "Version that the result must reflect, as resourceVersionMatch defines. For a watch, " +
      "the version after which it starts.",
  ),
  resourceVersionMatch: value(
    10,
    named("v1.ResourceVersionMatch", "NotOlderThan", "Exact"),
    "How resourceVersion applies to a list: one of NotOlderThan, Exact. Not allowed " +
      "without resourceVersion.",
  ),
  timeoutSeconds: pointer(
    5,
    int64,
    "Seconds after which the server ends the request, regardless of activity. By default " +
      "the server chooses for watches.",
  ),
  limit: value(
    7,
    int64,
    "Largest number of items in a response. If more exist, metadata.continue is set. " +
      "Unlimited by default. Ignored for watches.",
  ),
  continue: value(
    8,
    string,
    "Token from the previous page. The other parameters must be the same, and " +
      "resourceVersion absent. 410 means that it has expired.",
  ),
  sendInitialEvents: pointer(
    11,
    bool,
    "Whether a watch starts with events for all existing objects, followed by a marked " +
      "bookmark. Requires resourceVersionMatch NotOlderThan. Beta: feature gate WatchList.",
  ),
});
