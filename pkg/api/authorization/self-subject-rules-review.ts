import { required, bool, list, value, string, structs } from "#schema";
import { kind, objectMeta } from "#meta";
import { plainColumns, plainRow } from "../printing.ts";

const v1 = structs("api/authorization/v1");
const atomic = { listType: "atomic" } as const;

const selfSubjectRulesReviewSpec = v1(
  "SelfSubjectRulesReviewSpec",
  "Namespace whose permissions are listed.",
  {
    namespace: value(1, string, "Namespace to evaluate the rules for. Required."),
  },
);

const resourceRule = v1("ResourceRule", "Verbs that the caller may use on resources.", {
  verbs: required(
    1,
    list(string),
    "Allowed verbs, for example `get` or `create`. `*` means all verbs.",
    atomic,
  ),
  apiGroups: value(2, list(string), "API groups of the resources. `*` means all groups.", atomic),
  resources: value(
    3,
    list(string),
    "Allowed resources. `*` means all resources, `*/x` the subresource x of every resource.",
    {
      ...atomic,
    },
  ),
  resourceNames: value(
    4,
    list(string),
    "Names of the objects that may be accessed. Empty means all names.",
    atomic,
  ),
});

const nonResourceRule = v1(
  "NonResourceRule",
  "Verbs that the caller may use on paths outside the resource API.",
  {
    verbs: required(
      1,
      list(string),
      "Allowed HTTP methods in lower case. `*` means all methods.",
      atomic,
    ),
    nonResourceURLs: value(
      2,
      list(string),
      "Allowed paths. A trailing `*` matches any suffix.",
      atomic,
    ),
  },
);

const subjectRulesReviewStatus = v1(
  "SubjectRulesReviewStatus",
  "Permissions that the authorizers could list.",
  {
    resourceRules: required(
      1,
      list(resourceRule),
      "Permissions on resources, in no particular order.",
      atomic,
    ),
    nonResourceRules: required(
      2,
      list(nonResourceRule),
      "Permissions on other paths, in no particular order.",
      atomic,
    ),
    incomplete: required(
      3,
      bool,
      "Whether permissions may be missing because an authorizer cannot list its rules or failed.",
    ),
    evaluationError: value(
      4,
      string,
      "Error met while listing rules. The listed permissions are valid nevertheless.",
    ),
  },
);

const selfSubjectRulesReviewV1 = v1(
  "SelfSubjectRulesReview",
  "SelfSubjectRulesReview lists what the calling user may do in a namespace. Meant for " +
    "user interfaces, not for access decisions. It is not stored.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: required(2, selfSubjectRulesReviewSpec, "Namespace to list permissions for."),
    status: value(3, subjectRulesReviewStatus, "Result of the review. Filled in by the server."),
  },
);

/** SelfSubjectRulesReview is answered on creation and never stored. */
export const selfSubjectRulesReview = kind(selfSubjectRulesReviewV1, {
  group: "authorization.{api}",
  kind: "SelfSubjectRulesReview",
  formerVersions: ["v1beta1"],
  plural: "selfsubjectrulesreviews",
  scope: "Cluster",
  verbs: ["create"],
  versions: [
    { version: "v1", struct: selfSubjectRulesReviewV1, onByDefault: true, convert: "hub" },
  ],
  columns: plainColumns,
  row: plainRow,
});
