import { required, bool, list, value, string, structs } from "#schema";
import { kind, objectMeta } from "#meta";
import { plainColumns, plainRow } from "../printing.ts";

const v1 = structs("api/authorization/v1");
const atomic = { listType: "atomic" } as const;

const selfSubjectRulesReviewSpec = v1(
  "SelfSubjectRulesReviewSpec",
  "Specification of a SelfSubjectRulesReview.",
  {
    namespace: value(1, string, "Namespace to evaluate the rules for. Required."),
  },
);

const resourceRule = v1("ResourceRule", "Actions that the user can perform on resources.", {
  verbs: required(
    1,
    list(string),
    "Allowed verbs, for example `get` or `create`. `*` means all verbs.",
    atomic,
  ),
  apiGroups: value(
    2,
    list(string),
    'API groups of the resources. "" is the core group, `*` means all groups.',
    atomic,
  ),
  resources: value(
    3,
    list(string),
    "Resources to which the verbs apply. `*` means all resources, `*/<subresource>` that " +
      "subresource of all resources.",
    {
      ...atomic,
    },
  ),
  resourceNames: value(
    4,
    list(string),
    "Names of the objects to which the verbs apply. Empty means all.",
    atomic,
  ),
});

const nonResourceRule = v1(
  "NonResourceRule",
  "Actions that the user can perform on non-resource paths.",
  {
    verbs: required(
      1,
      list(string),
      "Allowed HTTP methods in lowercase. `*` means all methods.",
      atomic,
    ),
    nonResourceURLs: value(
      2,
      list(string),
      "URL paths to which the verbs apply. A trailing `*` matches any suffix.",
      atomic,
    ),
  },
);

const subjectRulesReviewStatus = v1(
  "SubjectRulesReviewStatus",
  "Result of a SelfSubjectRulesReview.",
  {
    resourceRules: required(
      1,
      list(resourceRule),
      "Actions that the user can perform on resources, in no particular order.",
      atomic,
    ),
    nonResourceRules: required(
      2,
      list(nonResourceRule),
      "Actions that the user can perform on non-resource paths, in no particular order.",
      atomic,
    ),
    incomplete: required(
      3,
      bool,
      "Whether the rules are incomplete, usually because an authorizer does not support " +
        "listing its rules, or failed.",
    ),
    evaluationError: value(
      4,
      string,
      "Error encountered while listing rules. The rules listed are still valid.",
    ),
  },
);

const selfSubjectRulesReviewV1 = v1(
  "SelfSubjectRulesReview",
  "SelfSubjectRulesReview lists the actions that the current user can perform in a namespace. " +
    "For user interfaces, not for authorization decisions. It is not stored.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: required(2, selfSubjectRulesReviewSpec, "Namespace whose rules are listed."),
    status: value(3, subjectRulesReviewStatus, "Result of the review. Set by the API server."),
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
