/** The shape of a FlowSchema. */
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
  "Points to a priority level.",
  { name: required(1, string, "Name of the level.") },
);

const flowDistinguisherMethod = v1(
  "FlowDistinguisherMethod",
  "How requests of a schema are told apart.",
  {
    type: required(
      1,
      named("v1.FlowDistinguisherMethodType", "ByUser", "ByNamespace"),
      "ByUser or ByNamespace.",
    ),
  },
);

const userSubject = v1("UserSubject", "A user.", {
  name: required(1, string, "Name of the user; a star means all."),
});

const groupSubject = v1("GroupSubject", "A group of users.", {
  name: required(1, string, "Name of the group; a star means all."),
});

const serviceAccountSubject = v1("ServiceAccountSubject", "A service account.", {
  namespace: required(1, string, "Its namespace."),
  name: required(2, string, "Its name; a star means all of the namespace."),
});

const subject = v1("Subject", "Who sends requests.", {
  kind: required(
    1,
    named("v1.SubjectKind", "User", "Group", "ServiceAccount"),
    "User, Group or ServiceAccount; says which field counts.",
  ),
  user: pointer(2, userSubject, "A user."),
  group: pointer(3, groupSubject, "A group of users."),
  serviceAccount: pointer(4, serviceAccountSubject, "A service account."),
});

const resourcePolicyRule = v1("ResourcePolicyRule", "Requests for resources.", {
  verbs: required(1, list(string), "Verbs; a star means all.", { listType: "set" }),
  apiGroups: required(2, list(string), "API groups; a star means all.", { listType: "set" }),
  resources: required(
    3,
    list(string),
    "Resources, as in `pods` or `pods/status`; a star means all.",
    {
      listType: "set",
    },
  ),
  clusterScope: value(4, bool, "Requests without a namespace count, too."),
  namespaces: required(5, list(string), "Namespaces; a star means all.", {
    required: false,
    listType: "set",
  }),
});

const nonResourcePolicyRule = v1("NonResourcePolicyRule", "Requests for other paths.", {
  verbs: required(1, list(string), "Verbs; a star means all.", { listType: "set" }),
  nonResourceURLs: required(6, list(string), "Paths, as in `/healthz` or `/apis/*`.", {
    listType: "set",
  }),
});

const policyRulesWithSubjects = v1(
  "PolicyRulesWithSubjects",
  "Requests of somebody for something.",
  {
    subjects: required(1, list(subject), "Who sends them.", { listType: "atomic" }),
    resourceRules: value(2, list(resourcePolicyRule), "Requests for resources.", {
      listType: "atomic",
    }),
    nonResourceRules: value(3, list(nonResourcePolicyRule), "Requests for other paths.", {
      listType: "atomic",
    }),
  },
);

export const flowSchemaSpec = v1("FlowSchemaSpec", "Which requests go to which level.", {
  priorityLevelConfiguration: required(
    1,
    priorityLevelConfigurationReference,
    "Level that the requests go to.",
  ),
  matchingPrecedence: required(
    2,
    int32,
    "Rank among schemas that fit the same request: the lowest wins; from 1 to 10000.",
    { required: false, default: 1000 },
  ),
  distinguisherMethod: pointer(
    3,
    flowDistinguisherMethod,
    "How requests are told apart; absent means not at all.",
  ),
  rules: value(4, list(policyRulesWithSubjects), "Requests that it is for; one rule must fit.", {
    listType: "atomic",
  }),
});

const flowSchemaStatus = v1("FlowSchemaStatus", "State of a schema.", {
  conditions: conditionsOf(v1, "FlowSchemaCondition"),
});

export const flowSchemaV1 = v1("FlowSchema", "Sorts requests into priority levels.", {
  metadata: value(1, objectMeta, "Standard object metadata."),
  spec: value(2, flowSchemaSpec, "Which requests go to which level."),
  status: value(3, flowSchemaStatus, "State of the schema."),
});

export type FlowSchema = Infer<typeof flowSchemaV1>;
export type Rule = Infer<typeof policyRulesWithSubjects>;
export type Subject = Infer<typeof subject>;
export type ResourceRule = Infer<typeof resourcePolicyRule>;
export type NonResourceRule = Infer<typeof nonResourcePolicyRule>;
