/** Structs of FlowSchema. */
import {
  required,
  bool,
  type Infer,
  int32,
  list,
  named,
  pointer,
  value,
  string,
  structs,
} from "#schema";
import { objectMeta } from "#meta";
import { conditionsOf } from "./conditions.ts";

const v1 = structs("api/flowcontrol/v1");

const priorityLevelConfigurationReference = v1(
  "PriorityLevelConfigurationReference",
  "Reference to a PriorityLevelConfiguration.",
  {
    name: required(1, string, "Name of the PriorityLevelConfiguration. Required."),
  },
);

const flowDistinguisherMethod = v1(
  "FlowDistinguisherMethod",
  "Method to divide the requests of a FlowSchema into flows, among which the priority level is " +
    "fair.",
  {
    type: required(
      1,
      named("v1.FlowDistinguisherMethodType", "ByUser", "ByNamespace"),
      "Type of the method: one of ByUser (one flow per user), ByNamespace (one flow per " +
        "namespace of the requested object).",
      { openApi: { enum: false } },
    ),
  },
);

const userSubject = v1("UserSubject", "User that makes requests.", {
  name: required(1, string, "Name of the user. `*` matches all users. Required."),
});

const groupSubject = v1("GroupSubject", "Group of users that make requests.", {
  name: required(1, string, "Name of the group. `*` matches all groups. Required."),
});

const serviceAccountSubject = v1("ServiceAccountSubject", "Service account that makes requests.", {
  namespace: required(1, string, "Namespace of the ServiceAccount. Required."),
  name: required(
    2,
    string,
    "Name of the ServiceAccount. `*` matches all in the namespace. Required.",
  ),
});

const subject = v1(
  "Subject",
  "Subject that makes requests. The field that corresponds to kind must be set.",
  {
    kind: required(
      1,
      named("v1.SubjectKind", "User", "Group", "ServiceAccount"),
      "Kind of the subject: one of User, Group, ServiceAccount.",
      { openApi: { enum: false } },
    ),
    user: pointer(2, userSubject, "User to match, for kind User."),
    group: pointer(3, groupSubject, "Group to match, for kind Group."),
    serviceAccount: pointer(
      4,
      serviceAccountSubject,
      "ServiceAccount to match, for kind ServiceAccount.",
    ),
  },
  {
    unions: [
      {
        discriminator: "kind",
        members: { group: "Group", serviceAccount: "ServiceAccount", user: "User" },
      },
    ],
  },
);

const resourcePolicyRule = v1(
  "ResourcePolicyRule",
  "Rule for resource requests, all fields of which must match. namespaces must not be empty " +
    "unless clusterScope is set.",
  {
    verbs: required(
      1,
      list(string),
      "Verbs to match, in lowercase. `*` matches all and must be the only one. Required.",
      {
        listType: "set",
      },
    ),
    apiGroups: required(
      2,
      list(string),
      'API groups to match. "" is the core group. `*` matches all and must be the only one. ' +
        "Required.",
      { listType: "set" },
    ),
    resources: required(
      3,
      list(string),
      "Resources to match, in lowercase plural, for example `pods` or `pods/status`. `*` " +
        "matches all and must be the only one. Required.",
      {
        listType: "set",
      },
    ),
    clusterScope: value(
      4,
      bool,
      "Whether requests without a namespace match: those for cluster-scoped resources, or " +
        "across all namespaces. Defaults to false.",
    ),
    namespaces: required(
      5,
      list(string),
      "Namespaces to match. `*` matches all and must be the only one. If empty, only requests " +
        "without a namespace match, which requires clusterScope.",
      {
        required: false,
        listType: "set",
      },
    ),
  },
);

const nonResourcePolicyRule = v1(
  "NonResourcePolicyRule",
  "Rule for non-resource requests, both fields of which must match.",
  {
    verbs: required(
      1,
      list(string),
      "HTTP methods to match, in lowercase. `*` matches all and must be the only one. Required.",
      { listType: "set" },
    ),
    nonResourceURLs: required(
      6,
      list(string),
      "URL paths to match, for example `/healthz` or `/healthz/*`. `*` matches all and must be " +
        "the only one. Required.",
      {
        listType: "set",
      },
    ),
  },
);

const policyRulesWithSubjects = v1(
  "PolicyRulesWithSubjects",
  "Rule that matches a request if at least one of its subjects and at least one of its " +
    "resource or non-resource rules match.",
  {
    subjects: required(
      1,
      list(subject),
      "Users, groups and service accounts that make the requests. At least one is required.",
      { listType: "atomic" },
    ),
    resourceRules: value(
      2,
      list(resourcePolicyRule),
      "Rules for resource requests. At least one resource or non-resource rule is required.",
      {
        listType: "atomic",
      },
    ),
    nonResourceRules: value(
      3,
      list(nonResourcePolicyRule),
      "Rules for non-resource requests. At least one resource or non-resource rule is required.",
      {
        listType: "atomic",
      },
    ),
  },
);

export const flowSchemaSpec = v1("FlowSchemaSpec", "Specification of a FlowSchema.", {
  priorityLevelConfiguration: required(
    1,
    priorityLevelConfigurationReference,
    "PriorityLevelConfiguration for the matching requests. If it does not exist, the " +
      "FlowSchema is ignored, and its status has condition Dangling.",
  ),
  matchingPrecedence: required(
    2,
    int32,
    "Precedence among the FlowSchemas that match a request: the lowest number is chosen, and " +
      "of equal ones the name that sorts first. 1 to 10000. Defaults to 1000.",
    { required: false, default: 1000 },
  ),
  distinguisherMethod: pointer(
    3,
    flowDistinguisherMethod,
    "How matching requests are divided into flows. If absent, they are a single flow.",
  ),
  rules: value(
    4,
    list(policyRulesWithSubjects),
    "Rules for the requests to match, at least one of which must match. If empty, no requests " +
      "match.",
    {
      listType: "atomic",
    },
  ),
});

const flowSchemaStatus = v1("FlowSchemaStatus", "Observed state of a FlowSchema.", {
  conditions: conditionsOf(v1, "FlowSchemaCondition"),
});

export const flowSchemaV1 = v1(
  "FlowSchema",
  "FlowSchema assigns the requests that it matches to a priority level, for API Priority and " +
    "Fairness.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: value(2, flowSchemaSpec, "Rules for the requests to match, and their priority level."),
    status: value(3, flowSchemaStatus, "Conditions reported by the API servers. Read-only."),
  },
);

export type FlowSchema = Infer<typeof flowSchemaV1>;
export type Rule = Infer<typeof policyRulesWithSubjects>;
export type Subject = Infer<typeof subject>;
export type ResourceRule = Infer<typeof resourcePolicyRule>;
export type NonResourceRule = Infer<typeof nonResourcePolicyRule>;
