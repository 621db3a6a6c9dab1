/** The shape of a FlowSchema. */
import {
  always,
  bool,
  type Infer,
  int32,
  list,
  named,
  optional,
  plain,
  string,
  structs,
} from "#schema";
import { objectMeta } from "#meta";
import { conditionsOf } from "./conditions.ts";

const v1 = structs("api/flowcontrol/v1");

const priorityLevelConfigurationReference = v1(
  "PriorityLevelConfigurationReference",
  "Points to a priority level.",
  { name: always(1, string, "Name of the level.") },
);

const flowDistinguisherMethod = v1(
  "FlowDistinguisherMethod",
  "How requests of a schema are told apart.",
  {
    type: always(
      1,
      named("v1.FlowDistinguisherMethodType", "ByUser", "ByNamespace"),
      "ByUser or ByNamespace.",
    ),
  },
);

const userSubject = v1("UserSubject", "A user.", {
  name: always(1, string, "Name of the user; a star means all."),
});

const groupSubject = v1("GroupSubject", "A group of users.", {
  name: always(1, string, "Name of the group; a star means all."),
});

const serviceAccountSubject = v1("ServiceAccountSubject", "A service account.", {
  namespace: always(1, string, "Its namespace."),
  name: always(2, string, "Its name; a star means all of the namespace."),
});

const subject = v1("Subject", "Who sends requests.", {
  kind: always(
    1,
    named("v1.SubjectKind", "User", "Group", "ServiceAccount"),
    "User, Group or ServiceAccount; says which field counts.",
  ),
  user: optional(2, userSubject, "A user."),
  group: optional(3, groupSubject, "A group of users."),
  serviceAccount: optional(4, serviceAccountSubject, "A service account."),
});

const resourcePolicyRule = v1("ResourcePolicyRule", "Requests for resources.", {
  verbs: always(1, list(string), "Verbs; a star means all.", { listType: "set" }),
  apiGroups: always(2, list(string), "API groups; a star means all.", { listType: "set" }),
  resources: always(
    3,
    list(string),
    "Resources, as in `pods` or `pods/status`; a star means all.",
    {
      listType: "set",
    },
  ),
  clusterScope: plain(4, bool, "Requests without a namespace count, too."),
  namespaces: always(5, list(string), "Namespaces; a star means all.", {
    required: false,
    listType: "set",
  }),
});

const nonResourcePolicyRule = v1("NonResourcePolicyRule", "Requests for other paths.", {
  verbs: always(1, list(string), "Verbs; a star means all.", { listType: "set" }),
  nonResourceURLs: always(6, list(string), "Paths, as in `/healthz` or `/apis/*`.", {
    listType: "set",
  }),
});

const policyRulesWithSubjects = v1(
  "PolicyRulesWithSubjects",
  "Requests of somebody for something.",
  {
    subjects: always(1, list(subject), "Who sends them.", { listType: "atomic" }),
    resourceRules: plain(2, list(resourcePolicyRule), "Requests for resources.", {
      listType: "atomic",
    }),
    nonResourceRules: plain(3, list(nonResourcePolicyRule), "Requests for other paths.", {
      listType: "atomic",
    }),
  },
);

export const flowSchemaSpec = v1("FlowSchemaSpec", "Which requests go to which level.", {
  priorityLevelConfiguration: always(
    1,
    priorityLevelConfigurationReference,
    "Level that the requests go to.",
  ),
  matchingPrecedence: always(
    2,
    int32,
    "Rank among schemas that fit the same request: the lowest wins; from 1 to 10000.",
    { required: false, default: 1000 },
  ),
  distinguisherMethod: optional(
    3,
    flowDistinguisherMethod,
    "How requests are told apart; absent means not at all.",
  ),
  rules: plain(4, list(policyRulesWithSubjects), "Requests that it is for; one rule must fit.", {
    listType: "atomic",
  }),
});

const flowSchemaStatus = v1("FlowSchemaStatus", "State of a schema.", {
  conditions: conditionsOf(v1, "FlowSchemaCondition"),
});

export const flowSchemaV1 = v1("FlowSchema", "Sorts requests into priority levels.", {
  metadata: plain(1, objectMeta, "Standard object metadata."),
  spec: plain(2, flowSchemaSpec, "Which requests go to which level."),
  status: plain(3, flowSchemaStatus, "State of the schema."),
});

export type FlowSchema = Infer<typeof flowSchemaV1>;
export type Rule = Infer<typeof policyRulesWithSubjects>;
export type Subject = Infer<typeof subject>;
export type ResourceRule = Infer<typeof resourcePolicyRule>;
export type NonResourceRule = Infer<typeof nonResourcePolicyRule>;
