/** Options that travel as a body or in the query of a request. */
import { bool, int64, list, named, optional, plain, string, structs } from "#schema";

const v1 = structs("apimachinery/pkg/apis/meta/v1");

export const preconditions = v1(
  "Preconditions",
  "What must hold of an object for it to be changed or deleted.",
  {
    uid: optional(1, string, "The UID that the object must have."),
    resourceVersion: optional(2, string, "The version that the object must have."),
  },
);

export const deleteOptions = v1("DeleteOptions", "How an object is deleted.", {
  gracePeriodSeconds: optional(
    1,
    int64,
    "Seconds until the object goes; zero at once, absent as its kind says.",
  ),
  preconditions: optional(2, preconditions, "What must hold, else 409."),
  orphanDependents: optional(
    3,
    bool,
    "Superseded by propagationPolicy: true leaves the dependents alone.",
  ),
  propagationPolicy: optional(
    4,
    named("v1.DeletionPropagation", "Orphan", "Background", "Foreground"),
    "What becomes of dependents: Orphan, Background or Foreground.",
  ),
  dryRun: plain(5, list(string), "`All` = walk the whole path and store nothing.", {
    listType: "atomic",
  }),
  ignoreStoreReadErrorWithClusterBreakingPotential: optional(
    6,
    bool,
    "Delete even what can no longer be read from the store, without any of the checks.",
  ),
});

export const createOptions = v1("CreateOptions", "How an object is created.", {
  dryRun: plain(1, list(string), "`All` = walk the whole path and store nothing.", {
    listType: "atomic",
  }),
  fieldManager: plain(
    3,
    string,
    "Name of whoever makes the change, at most 128 printable characters.",
  ),
  fieldValidation: plain(
    4,
    string,
    "What to do about unknown and duplicate fields: Ignore, Warn or Strict.",
  ),
});

export const updateOptions = v1("UpdateOptions", "How an object is replaced.", {
  dryRun: plain(1, list(string), "`All` = walk the whole path and store nothing.", {
    listType: "atomic",
  }),
  fieldManager: plain(
    2,
    string,
    "Name of whoever makes the change, at most 128 printable characters.",
  ),
  fieldValidation: plain(
    3,
    string,
    "What to do about unknown and duplicate fields: Ignore, Warn or Strict.",
  ),
});

export const patchOptions = v1("PatchOptions", "How an object is patched.", {
  dryRun: plain(1, list(string), "`All` = walk the whole path and store nothing.", {
    listType: "atomic",
  }),
  force: optional(2, bool, "Apply only: take over fields that others own."),
  fieldManager: plain(
    3,
    string,
    "Name of whoever makes the change, at most 128 printable characters.",
  ),
  fieldValidation: plain(
    4,
    string,
    "What to do about unknown and duplicate fields: Ignore, Warn or Strict.",
  ),
});

export const getOptions = v1("GetOptions", "How an object is read.", {
  resourceVersion: plain(1, string, "The version that the answer must not be older than."),
});

export const listOptions = v1("ListOptions", "How a collection is listed or watched.", {
  labelSelector: plain(1, string, "Only objects whose labels match."),
  fieldSelector: plain(2, string, "Only objects whose fields match."),
  watch: plain(3, bool, "Stream changes instead of answering a list."),
  allowWatchBookmarks: plain(9, bool, "Accept events that only carry a version."),
  resourceVersion: plain(4, string, "The version that the answer relates to."),
  resourceVersionMatch: plain(
    10,
    named("v1.ResourceVersionMatch", "NotOlderThan", "Exact"),
    "How resourceVersion is meant: NotOlderThan or Exact.",
  ),
  timeoutSeconds: optional(5, int64, "Seconds after which the call ends, whatever happens."),
  limit: plain(7, int64, "At most so many items; the rest comes by `continue`."),
  continue: plain(8, string, "Token of the answer before, to go on from there."),
  sendInitialEvents: optional(11, bool, "Begin a watch with the present state."),
});
