import { required, bool, boxedList, list, map, pointer, value, string, structs } from "#schema";
import { kind, objectMeta } from "#meta";
import { plainColumns, plainRow } from "../printing.ts";
import { nonResourceAttributes, resourceAttributes } from "./attributes.ts";

const v1 = structs("api/authorization/v1");
const metadata = value(1, objectMeta, "Standard object metadata.");

const subjectAccessReviewSpec = v1(
  "SubjectAccessReviewSpec",
  "Subject and action of an access review. Exactly one of the two attributes fields must be set.",
  {
    resourceAttributes: pointer(
      1,
      resourceAttributes,
      "Attributes of a resource request. Mutually exclusive with nonResourceAttributes.",
    ),
    nonResourceAttributes: pointer(
      2,
      nonResourceAttributes,
      "Attributes of a non-resource request. Mutually exclusive with resourceAttributes.",
    ),
    user: value(3, string, "Name of the user to check. user or groups must be set."),
    groups: value(4, list(string), "Groups of the user to check.", { listType: "atomic" }),
    extra: value(
      5,
      map(boxedList("api/authorization/v1", "ExtraValue", string)),
      "Extra attributes of the user, as from an authenticator.",
    ),
    uid: value(6, string, "UID of the user to check."),
  },
);

const subjectAccessReviewStatus = v1("SubjectAccessReviewStatus", "Result of an access review.", {
  allowed: required(1, bool, "Whether the action is allowed."),
  denied: value(
    4,
    bool,
    "Whether an authorizer denied the action. If neither allowed nor denied is true, no " +
      "authorizer had an opinion.",
  ),
  reason: value(2, string, "Human-readable reason for the decision, if there is one."),
  evaluationError: value(
    3,
    string,
    "Error encountered during the check. The decision can nevertheless be valid.",
  ),
});

const status = value(3, subjectAccessReviewStatus, "Result of the review. Set by the API server.");

const selfSubjectAccessReviewSpec = v1(
  "SelfSubjectAccessReviewSpec",
  "Action of an access review of the current user. Exactly one of the two fields must be set.",
  {
    resourceAttributes: pointer(
      1,
      resourceAttributes,
      "Attributes of a resource request. Mutually exclusive with nonResourceAttributes.",
    ),
    nonResourceAttributes: pointer(
      2,
      nonResourceAttributes,
      "Attributes of a non-resource request. Mutually exclusive with resourceAttributes.",
    ),
  },
);

const subjectAccessReviewV1 = v1(
  "SubjectAccessReview",
  "SubjectAccessReview checks whether a user may perform an action. It is not stored.",
  {
    metadata,
    spec: required(2, subjectAccessReviewSpec, "User and action to check."),
    status,
  },
);

const localSubjectAccessReviewV1 = v1(
  "LocalSubjectAccessReview",
  "LocalSubjectAccessReview checks whether a user may perform an action in the namespace of " +
    "the review. It is not stored.",
  {
    metadata,
    spec: required(
      2,
      subjectAccessReviewSpec,
      "User and action to check. resourceAttributes.namespace must equal that of the review.",
    ),
    status,
  },
);

const selfSubjectAccessReviewV1 = v1(
  "SelfSubjectAccessReview",
  "SelfSubjectAccessReview checks whether the current user may perform an action. It is not " +
    "stored.",
  {
    metadata,
    spec: required(2, selfSubjectAccessReviewSpec, "Action to check for the current user."),
    status,
  },
);

/** SubjectAccessReview is answered on creation and never stored. */
export const subjectAccessReview = kind(subjectAccessReviewV1, {
  group: "authorization.{api}",
  kind: "SubjectAccessReview",
  formerVersions: ["v1beta1"],
  plural: "subjectaccessreviews",
  scope: "Cluster",
  verbs: ["create"],
  versions: [{ version: "v1", struct: subjectAccessReviewV1, onByDefault: true, convert: "hub" }],
  columns: plainColumns,
  row: plainRow,
});

export const localSubjectAccessReview = kind(localSubjectAccessReviewV1, {
  group: "authorization.{api}",
  kind: "LocalSubjectAccessReview",
  formerVersions: ["v1beta1"],
  plural: "localsubjectaccessreviews",
  scope: "Namespaced",
  verbs: ["create"],
  versions: [
    { version: "v1", struct: localSubjectAccessReviewV1, onByDefault: true, convert: "hub" },
  ],
  columns: plainColumns,
  row: plainRow,
});

export const selfSubjectAccessReview = kind(selfSubjectAccessReviewV1, {
  group: "authorization.{api}",
  kind: "SelfSubjectAccessReview",
  formerVersions: ["v1beta1"],
  plural: "selfsubjectaccessreviews",
  scope: "Cluster",
  verbs: ["create"],
  versions: [
    { version: "v1", struct: selfSubjectAccessReviewV1, onByDefault: true, convert: "hub" },
  ],
  columns: plainColumns,
  row: plainRow,
});
