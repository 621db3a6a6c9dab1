/** Default FlowSchemas and PriorityLevelConfigurations. */
import { type Domain, resolve } from "#meta";
import { type FlowSchema, fixedFlowSchemas } from "../flowcontrol/flow-schema.ts";
import { fixedLevels, type PriorityLevel } from "../flowcontrol/priority-level-configuration.ts";

/** Default object; a mandatory one is restored after any change. */
export interface FlowControlDefault<Spec> {
  readonly name: string;
  readonly spec: Spec;
  readonly mandatory: boolean;
}

type SchemaSpec = FlowSchema["spec"];
type LevelSpec = PriorityLevel["spec"];
type Rule = NonNullable<SchemaSpec["rules"]>[number];
type Subject = NonNullable<Rule["subjects"]>[number];
type ResourceRule = NonNullable<Rule["resourceRules"]>[number];

export interface FlowControlDefaults {
  readonly schemas: readonly FlowControlDefault<SchemaSpec>[];
  readonly levels: readonly FlowControlDefault<LevelSpec>[];
}

export function flowControlDefaults(domain: Domain): FlowControlDefaults {
  const mandatory = <Spec>(specs: Readonly<Record<string, Spec>>) =>
    Object.entries(specs).map(([name, spec]) => ({ name, spec, mandatory: true }));
  return {
    schemas: [...mandatory(fixedFlowSchemas), ...suggestedSchemas(domain)],
    levels: [...mandatory(fixedLevels), ...suggestedLevels],
  };
}

/** Name, queues, hand size, nominal shares and lendable percent. */
const levels: readonly (readonly [string, number, number, number, number])[] = [
  ["system", 64, 6, 30, 33],
  ["node-high", 64, 6, 40, 25],
  ["leader-election", 16, 4, 10, 0],
  ["workload-high", 128, 6, 40, 50],
  ["workload-low", 128, 6, 100, 90],
  ["global-default", 128, 6, 20, 50],
];

const suggestedLevels = levels.map(
  ([name, queues, handSize, nominalConcurrencyShares, lendablePercent]) => {
    const queuing = { queues, handSize, queueLengthLimit: 50 };
    const limitResponse = { type: "Queue", queuing } as const;
    const limited = { nominalConcurrencyShares, limitResponse, lendablePercent };
    return { name, spec: { type: "Limited", limited } as const, mandatory: false };
  },
);

const everything: Pick<Rule, "resourceRules" | "nonResourceRules"> = {
  resourceRules: [resources("*", ["*"], { clusterScope: true })],
  nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
};

/** Resource rules; the core group is spelled `core`. */
function resources(
  group: string,
  plurals: readonly string[],
  more: { readonly verbs?: readonly string[]; readonly clusterScope?: boolean } = {},
): ResourceRule {
  const { verbs = ["*"], clusterScope } = more;
  return {
    verbs: [...verbs],
    apiGroups: [group === "core" ? "" : group],
    resources: [...plurals],
    ...(clusterScope === undefined ? {} : { clusterScope }),
    namespaces: ["*"],
  };
}

const user = (name: string): Subject => ({ kind: "User", user: { name } });
const group = (name: string): Subject => ({ kind: "Group", group: { name } });
const everyone = [group("system:unauthenticated"), group("system:authenticated")];
const systemAccounts: Subject = {
  kind: "ServiceAccount",
  serviceAccount: { namespace: "kube-system", name: "*" },
};

interface Sketch {
  readonly name: string;
  readonly level: string;
  readonly precedence: number;
  readonly by?: "ByUser" | "ByNamespace";
  readonly subjects: readonly Subject[];
  readonly rules: Pick<Rule, "resourceRules" | "nonResourceRules">;
}

function forAll(
  name: string,
  level: string,
  rest: Pick<Sketch, "precedence" | "by" | "subjects">,
): Sketch {
  return { name, level, ...rest, rules: everything };
}

const byUser = "ByUser";
const byNamespace = "ByNamespace";

/** FlowSchemas that match all requests of their subjects. */
const schemasOfSubjects: readonly Sketch[] = [
  forAll("system-nodes", "system", {
    precedence: 500,
    by: byUser,
    subjects: [group("system:nodes")],
  }),
  ...["kube-controller-manager", "kube-scheduler"].map((name) =>
    forAll(name, "workload-high", {
      precedence: 800,
      by: byNamespace,
      subjects: [user(`system:${name}`)],
    }),
  ),
  forAll("kube-system-service-accounts", "workload-high", {
    precedence: 900,
    by: byNamespace,
    subjects: [systemAccounts],
  }),
  forAll("service-accounts", "workload-low", {
    precedence: 9000,
    by: byUser,
    subjects: [group("system:serviceaccounts")],
  }),
  forAll("global-default", "global-default", { precedence: 9900, by: byUser, subjects: everyone }),
];

const probes: Sketch = {
  name: "probes",
  level: "exempt",
  precedence: 2,
  subjects: everyone,
  rules: {
    nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["/healthz", "/readyz", "/livez"] }],
  },
};

function suggestedSchemas(domain: Domain): readonly FlowControlDefault<SchemaSpec>[] {
  const coordination = resolve("coordination.{api}", domain);
  const leases = ["leases"];
  const heartbeats: Sketch = {
    name: "system-node-high",
    level: "node-high",
    precedence: 400,
    by: byUser,
    subjects: [group("system:nodes")],
    rules: {
      resourceRules: [
        resources("core", ["nodes", "nodes/status"], { clusterScope: true }),
        resources(coordination, leases),
      ],
    },
  };
  const election: Sketch = {
    name: "system-leader-election",
    level: "leader-election",
    precedence: 100,
    by: byUser,
    subjects: [
      user("system:kube-controller-manager"),
      user("system:kube-scheduler"),
      systemAccounts,
    ],
    rules: {
      resourceRules: [resources(coordination, leases, { verbs: ["get", "create", "update"] })],
    },
  };
  return [...schemasOfSubjects, probes, heartbeats, election].map(suggested);
}

function suggested(sketch: Sketch): FlowControlDefault<SchemaSpec> {
  const { name, level, precedence, by, subjects, rules } = sketch;
  return {
    name,
    mandatory: false,
    spec: {
      priorityLevelConfiguration: { name: level },
      matchingPrecedence: precedence,
      ...(by === undefined ? {} : { distinguisherMethod: { type: by } }),
      rules: [{ subjects: [...subjects], ...rules }],
    },
  };
}
