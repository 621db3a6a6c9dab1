/** Options that travel as a body or in the query of a request. */
import { bool, int64, list, named, pointer, value, string, structs } from "#schema";

const v1 = structs("apimachinery/pkg/apis/meta/v1");

export const preconditions = v1(
  "Preconditions",
  "What must hold of an object for it to be changed or deleted.",
  {
    uid: pointer(1, string, "The UID that the object must have."),
    resourceVersion: pointer(2, string, "The version that the object must have."),
  },
);

export const deleteOptions = v1("DeleteOptions", "How an object is deleted.", {
  gracePeriodSeconds: pointer(
    1,
    int64,
    "Seconds until the object goes; zero at once, absent as its kind says.",
  ),
  preconditions: pointer(2, preconditions, "What must hold, else 409."),
  orphanDependents: pointer(
    3,
    bool,
    "Superseded by propagationPolicy: true leaves the dependents alone.",
  ),
  propagationPolicy: pointer(
    4,
    named("v1.DeletionPropagation", "Orphan", "Background", "Foreground"),
    "What becomes of dependents: Orphan, Background or Foreground.",
  ),
  dryRun: value(5, list(string), "`All` = walk the whole path and store nothing.", {
    listType: "atomic",
  }),
  ignoreStoreReadErrorWithClusterBreakingPotential: pointer(
    6,
    bool,
    "Delete even what can no longer be read from the store, without any of the checks.",
  ),
});

export const createOptions = v1("CreateOptions", "How an object is created.", {
  dryRun: value(1, list(string), "`All` = walk the whole path and store nothing.", {
    listType: "atomic",
  }),
  fieldManager: value(
    3,
    string,
    "Name of whoever makes the change, at most 128 printable characters.",
  ),
  fieldValidation: value(
    4,
    string,
    "What to do about unknown and duplicate fields: Ignore, Warn or Strict.",
  ),
});

export const updateOptions = v1("UpdateOptions", "How an object is replaced.", {
  dryRun: value(1, list(string), "`All` = walk the whole path and store nothing.", {
    listType: "atomic",
  }),
  fieldManager: value(
    2,
    string,
    "Name of whoever makes the change, at most 128 printable characters.",
  ),
  fieldValidation: value(
    3,
    string,
    "What to do about unknown and duplicate fields: Ignore, Warn or Strict.",
  ),
});

export const patchOptions = v1("PatchOptions", "How an object is patched.", {
  dryRun: value(1, list(string), "`All` = walk the whole path and store nothing.", {
    listType: "atomic",
  }),
  force: pointer(2, bool, "Apply only: take over fields that others own."),
  fieldManager: value(
    3,
    string,
    "Name of whoever makes the change, at most 128 printable characters.",
  ),
  fieldValidation: value(
    4,
    string,
    "What to do about unknown and duplicate fields: Ignore, Warn or Strict.",
  ),
});

export const getOptions = v1("GetOptions", "How an object is read.", {
  resourceVersion: value(1, string, "The version that the answer must not be older than."),
});

export const listOptions = v1("ListOptions", "How a collection is listed or watched.", {
  labelSelector: value(1, string, "Only objects whose labels match."),
  fieldSelector: value(2, string, "Only objects whose fields match."),
  watch: value(3, bool, "Stream changes instead of answering a list."),
  allowWatchBookmarks: value(9, bool, "Accept events that only carry a version."),
  resourceVersion: value(4, string, "The version that the answer relates to."),
  resourceVersionMatch: value(
    10,
    named("v1.ResourceVersionMatch", "NotOlderThan", "Exact"),
    "How resourceVersion is meant: NotOlderThan or Exact.",
  ),
  timeoutSeconds: pointer(5, int64, "Seconds after which the call ends, whatever happens."),
  limit: value(7, int64, "At most so many items; the rest comes by `continue`."),
  continue: value(8, string, "Token of the answer before, to go on from there."),
  sendInitialEvents: pointer(11, bool, "Begin a watch with the present state."),
});
