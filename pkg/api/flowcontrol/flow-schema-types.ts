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
    name: required(
      1,
      string,
      "Name of the PriorityLevelConfiguration. Required; it need not exist yet.",
    ),
  },
);

const flowDistinguisherMethod = v1(
  "FlowDistinguisherMethod",
  "Splits the requests of a FlowSchema into flows that share their level fairly.",
  {
    type: required(
      1,
      named("v1.FlowDistinguisherMethodType", "ByUser", "ByNamespace"),
      "Attribute that identifies a flow: one of ByUser, ByNamespace (of the requested object).",
      { openApi: { enum: false } },
    ),
  },
);

const userSubject = v1("UserSubject", "Matches requests of one user, or of all.", {
  name: required(1, string, "Name of the user, or `*` for all users. Required."),
});

const groupSubject = v1("GroupSubject", "Matches requests of the members of a group.", {
  name: required(
    1,
    string,
    "Name of the group, or `*` for every user that is in any group. Required.",
  ),
});

const serviceAccountSubject = v1("ServiceAccountSubject", "Matches requests of service accounts.", {
  namespace: required(1, string, "Namespace of the service account. Required."),
  name: required(
    2,
    string,
    "Name of the service account, or `*` for all of the namespace. Required.",
  ),
});

const subject = v1(
  "Subject",
  "Originator of requests. The field that corresponds to kind must be set.",
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
      "Service account to match, for kind ServiceAccount.",
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
  "Matches requests for resources. All fields must match, and a namespace or " +
    "clusterScope must be given.",
  {
    verbs: required(1, list(string), "Verbs to match. `*` matches all and must stand alone.", {
      listType: "set",
    }),
    apiGroups: required(
      2,
      list(string),
      'API groups to match; "" is the core group. `*` matches all and must stand alone.',
      { listType: "set" },
    ),
    resources: required(
      3,
      list(string),
      "Resources to match in lowercase plural, for example `pods` or `pods/status`. `*` " +
        "matches all and must stand alone.",
      {
        listType: "set",
      },
    ),
    clusterScope: value(
      4,
      bool,
      "Whether requests without a namespace match, for cluster-scoped resources and lists " +
        "across namespaces. Defaults to false.",
    ),
    namespaces: required(
      5,
      list(string),
      "Namespaces to match. `*` matches every namespace and must stand alone. Empty matches " +
        "only requests without a namespace.",
      {
        required: false,
        listType: "set",
      },
    ),
  },
);

const nonResourcePolicyRule = v1(
  "NonResourcePolicyRule",
  "Matches requests for paths outside the resource API. Both fields must match.",
  {
    verbs: required(
      1,
      list(string),
      "Verbs to match, in lower case. `*` matches all and must stand alone.",
      { listType: "set" },
    ),
    nonResourceURLs: required(
      6,
      list(string),
      "Paths to match, for example `/healthz` or `/healthz/*`. `*` matches all and must stand " +
        "alone.",
      {
        listType: "set",
      },
    ),
  },
);

const policyRulesWithSubjects = v1(
  "PolicyRulesWithSubjects",
  "Requests that a FlowSchema covers: any of the subjects, together with any of the rules.",
  {
    subjects: required(
      1,
      list(subject),
      "Users, groups or service accounts that send the requests. At least one is required.",
      { listType: "atomic" },
    ),
    resourceRules: value(
      2,
      list(resourcePolicyRule),
      "Rules for resource requests. Either these or nonResourceRules are required.",
      {
        listType: "atomic",
      },
    ),
    nonResourceRules: value(
      3,
      list(nonResourcePolicyRule),
      "Rules for requests outside the resource API. Either these or resourceRules are required.",
      {
        listType: "atomic",
      },
    ),
  },
);

export const flowSchemaSpec = v1("FlowSchemaSpec", "Desired classification of a FlowSchema.", {
  priorityLevelConfiguration: required(
    1,
    priorityLevelConfigurationReference,
    "Priority level that handles the matching requests. If it does not exist, the " +
      "FlowSchema is ignored and its status says so.",
  ),
  matchingPrecedence: required(
    2,
    int32,
    "Order among the FlowSchemas that match a request: the lowest number wins, ties go to " +
      "the name that sorts first. 1 to 10000. Defaults to 1000.",
    { required: false, default: 1000 },
  ),
  distinguisherMethod: pointer(
    3,
    flowDistinguisherMethod,
    "How the matching requests are split into flows. When absent, they all form a single flow.",
  ),
  rules: value(
    4,
    list(policyRulesWithSubjects),
    "Requests to match: any of the rules is enough. When empty, nothing matches.",
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
  "FlowSchema assigns incoming requests to a priority level for API priority and fairness.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: value(2, flowSchemaSpec, "Requests to match and their priority level."),
    status: value(3, flowSchemaStatus, "Conditions reported by the API servers. Read-only."),
  },
);

export type FlowSchema = Infer<typeof flowSchemaV1>;
export type Rule = Infer<typeof policyRulesWithSubjects>;
export type Subject = Infer<typeof subject>;
export type ResourceRule = Infer<typeof resourcePolicyRule>;
export type NonResourceRule = Infer<typeof nonResourcePolicyRule>;
