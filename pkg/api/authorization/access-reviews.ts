import { required, bool, boxedList, list, map, pointer, value, string, structs } from "#schema";
import { kind, objectMeta } from "#meta";
import { plainColumns, plainRow } from "../printing.ts";
import { nonResourceAttributes, resourceAttributes } from "./attributes.ts";

const v1 = structs("api/authorization/v1");
const metadata = value(1, objectMeta, "Standard object metadata.");

const subjectAccessReviewSpec = v1("SubjectAccessReviewSpec", "Who would do what.", {
  resourceAttributes: pointer(1, resourceAttributes, "A request on a resource."),
  nonResourceAttributes: pointer(2, nonResourceAttributes, "A request on another path."),
  user: value(3, string, "Name of the user."),
  groups: value(4, list(string), "Groups of the user.", { listType: "atomic" }),
  extra: value(
    5,
    map(boxedList("api/authorization/v1", "ExtraValue", string)),
    "What else the authenticator knows of the user.",
  ),
  uid: value(6, string, "UID of the user."),
});

const subjectAccessReviewStatus = v1("SubjectAccessReviewStatus", "Whether it is allowed.", {
  allowed: required(1, bool, "True = it is allowed."),
  denied: value(4, bool, "True = it is refused, whatever others say."),
  reason: value(2, string, "Why."),
  evaluationError: value(3, string, "What went wrong while finding out."),
});

const status = value(
  3,
  subjectAccessReviewStatus,
  "Whether it is allowed; filled in by the server.",
);

const selfSubjectAccessReviewSpec = v1(
  "SelfSubjectAccessReviewSpec",
  "What the client itself would do.",
  {
    resourceAttributes: pointer(1, resourceAttributes, "A request on a resource."),
    nonResourceAttributes: pointer(2, nonResourceAttributes, "A request on another path."),
  },
);

const subjectAccessReviewV1 = v1("SubjectAccessReview", "Asks whether someone may do something.", {
  metadata,
  spec: required(2, subjectAccessReviewSpec, "Who would do what."),
  status,
});

const localSubjectAccessReviewV1 = v1(
  "LocalSubjectAccessReview",
  "Asks whether someone may do something in this namespace.",
  { metadata, spec: required(2, subjectAccessReviewSpec, "Who would do what."), status },
);

const selfSubjectAccessReviewV1 = v1(
  "SelfSubjectAccessReview",
  "Asks whether the client itself may do something.",
  {
    metadata,
    spec: required(2, selfSubjectAccessReviewSpec, "What the client itself would do."),
    status,
  },
);

/** Never stored, as all reviews. */
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
