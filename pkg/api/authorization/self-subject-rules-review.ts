import { required, bool, list, value, string, structs } from "#schema";
import { kind, objectMeta } from "#meta";
import { plainColumns, plainRow } from "../printing.ts";

const v1 = structs("api/authorization/v1");
const atomic = { listType: "atomic" } as const;

const selfSubjectRulesReviewSpec = v1("SelfSubjectRulesReviewSpec", "Where to look.", {
  namespace: value(1, string, "The namespace; required."),
});

const resourceRule = v1("ResourceRule", "Verbs that are allowed on resources.", {
  verbs: required(1, list(string), "The verbs; `*` means all.", atomic),
  apiGroups: value(2, list(string), "API groups; `*` means all.", atomic),
  resources: value(3, list(string), "Resources; `*` means all, `*/x` subresource x of all.", {
    ...atomic,
  }),
  resourceNames: value(4, list(string), "Names of objects; empty means all.", atomic),
});

const nonResourceRule = v1("NonResourceRule", "Verbs that are allowed on other paths.", {
  verbs: required(1, list(string), "HTTP methods in lower case; `*` means all.", atomic),
  nonResourceURLs: value(2, list(string), "Paths, with `*` as the last part of some.", atomic),
});

const subjectRulesReviewStatus = v1("SubjectRulesReviewStatus", "What is allowed.", {
  resourceRules: required(1, list(resourceRule), "What is allowed on resources.", atomic),
  nonResourceRules: required(2, list(nonResourceRule), "What is allowed on other paths.", atomic),
  incomplete: required(3, bool, "True = there may be more, since not all can be listed."),
  evaluationError: value(4, string, "What went wrong while finding out."),
});

const selfSubjectRulesReviewV1 = v1(
  "SelfSubjectRulesReview",
  "Asks what the client itself may do in a namespace.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: required(2, selfSubjectRulesReviewSpec, "Where to look."),
    status: value(3, subjectRulesReviewStatus, "What is allowed; filled in by the server."),
  },
);

/** Never stored. */
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
