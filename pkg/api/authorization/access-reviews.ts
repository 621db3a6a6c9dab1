import { required, bool, boxedList, list, map, pointer, value, string, structs } from "#schema";
import { kind, objectMeta } from "#meta";
import { plainColumns, plainRow } from "../printing.ts";
import { nonResourceAttributes, resourceAttributes } from "./attributes.ts";

const v1 = structs("api/authorization/v1");
const metadata = value(1, objectMeta, "Standard object metadata.");

const subjectAccessReviewSpec = v1(
  "SubjectAccessReviewSpec",
  "User and request to check. Exactly one of resourceAttributes and " +
    "nonResourceAttributes must be set.",
  {
    resourceAttributes: pointer(
      1,
      resourceAttributes,
      "Request for a resource of the API. Mutually exclusive with nonResourceAttributes.",
    ),
    nonResourceAttributes: pointer(
      2,
      nonResourceAttributes,
      "Request for a path outside the resource API. Mutually exclusive with resourceAttributes.",
    ),
    user: value(3, string, "Name of the user to check. User or groups must be set."),
    groups: value(4, list(string), "Groups of the user to check.", { listType: "atomic" }),
    extra: value(
      5,
      map(boxedList("api/authorization/v1", "ExtraValue", string)),
      "Further attributes of the user, as its authenticator supplies them.",
    ),
    uid: value(6, string, "UID of the user to check."),
  },
);

const subjectAccessReviewStatus = v1("SubjectAccessReviewStatus", "Decision of the authorizers.", {
  allowed: required(1, bool, "Whether the request is allowed."),
  denied: value(
    4,
    bool,
    "Whether an authorizer explicitly denied the request. False together with allowed " +
      "false means that no authorizer had an opinion.",
  ),
  reason: value(2, string, "Human-readable reason for the decision, possibly empty."),
  evaluationError: value(
    3,
    string,
    "Error met during the check. A decision may still have been reached without the failing part.",
  ),
});

const status = value(
  3,
  subjectAccessReviewStatus,
  "Result of the review. Filled in by the server.",
);

const selfSubjectAccessReviewSpec = v1(
  "SelfSubjectAccessReviewSpec",
  "Request to check for the calling user. Exactly one of the two fields must be set.",
  {
    resourceAttributes: pointer(
      1,
      resourceAttributes,
      "Request for a resource of the API. Mutually exclusive with nonResourceAttributes.",
    ),
    nonResourceAttributes: pointer(
      2,
      nonResourceAttributes,
      "Request for a path outside the resource API. Mutually exclusive with resourceAttributes.",
    ),
  },
);

const subjectAccessReviewV1 = v1(
  "SubjectAccessReview",
  "SubjectAccessReview checks whether a user may perform a request. It is not stored.",
  {
    metadata,
    spec: required(2, subjectAccessReviewSpec, "User and request to evaluate."),
    status,
  },
);

const localSubjectAccessReviewV1 = v1(
  "LocalSubjectAccessReview",
  "LocalSubjectAccessReview checks whether a user may perform a request within one " +
    "namespace. It is not stored.",
  {
    metadata,
    spec: required(
      2,
      subjectAccessReviewSpec,
      "User and request to evaluate. resourceAttributes.namespace must be that of the review.",
    ),
    status,
  },
);

const selfSubjectAccessReviewV1 = v1(
  "SelfSubjectAccessReview",
  "SelfSubjectAccessReview checks whether the calling user may perform a request. It is " +
    "not stored.",
  {
    metadata,
    spec: required(2, selfSubjectAccessReviewSpec, "Request to evaluate for the caller."),
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
