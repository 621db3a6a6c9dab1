import {
  inline,
  type Infer,
  list,
  named,
  pointer,
  type Path,
  value,
  type Problems,
  string,
  structs,
} from "#schema";
import { unsupported } from "../strategy.ts";

const v1 = structs("api/admissionregistration/v1");

const rule = v1(
  "Rule",
  "Resources that a rule matches: the product of groups, versions and resources.",
  {
    apiGroups: value(
      1,
      list(string),
      'API groups to match. "" is the core group. `*` matches all groups and must be the only ' +
        "one. Required.",
      {
        listType: "atomic",
      },
    ),
    apiVersions: value(
      2,
      list(string),
      "API versions to match. `*` matches all versions and must be the only one. Required.",
      { listType: "atomic" },
    ),
    resources: value(
      3,
      list(string),
      "Resources to match: `pods`, `pods/log`, `pods/*` (all subresources of pods), `*/scale` " +
        "(all scale subresources), `*` (all resources, but no subresources), `*/*` (all " +
        "resources and subresources). Required.",
      { listType: "atomic" },
    ),
    scope: pointer(
      4,
      named("v1.ScopeType", "Cluster", "Namespaced", "*"),
      "Scope of the resources. One of Cluster (including Namespaces), Namespaced, * (both). " +
        "Defaults to *.",
      { default: "*", openApi: { enum: false } },
    ),
  },
);

/** Shared by all versions of the group. */
export const ruleWithOperations = v1(
  "RuleWithOperations",
  "Rule that matches requests by operation and resource. Both must match.",
  {
    operations: value(
      1,
      list(named("v1.OperationType", "*", "CREATE", "UPDATE", "DELETE", "CONNECT")),
      "Operations to match: *, CREATE, UPDATE, DELETE, CONNECT. `*` matches all operations and " +
        "must be the only one. Required.",
      { listType: "atomic" },
    ),
    rule: inline(2, rule, "Resources to match: API groups, versions, resources and scope.", {
      protoName: "rule",
    }),
  },
);

type RuleWithOperations = Infer<typeof ruleWithOperations>;

const operations = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const scopes = ["*", "Cluster", "Namespaced"];

export function checkRule(value: RuleWithOperations, path: Path, problems: Problems): void {
  const { operations: verbs = [] } = value;
  const operationsPath = path.child("operations");
  if (verbs.length === 0) problems.required(operationsPath);
  if (verbs.length > 1 && verbs.includes("*")) {
    problems.invalid(operationsPath, verbs, "if '*' is present, must not specify other operations");
  }
  for (const [index, verb] of verbs.entries()) {
    if (!operations.includes(verb))
      problems.notSupported(operationsPath.index(index), verb, operations);
  }
  checkNames(value.apiGroups ?? [], path.child("apiGroups"), {
    others: "API groups",
    problems,
    mayBeEmpty: true,
  });
  checkNames(value.apiVersions ?? [], path.child("apiVersions"), {
    others: "API versions",
    problems,
    mayBeEmpty: false,
  });
  checkResources(value.resources ?? [], path.child("resources"), problems);
  if (value.scope !== undefined && !scopes.includes(value.scope)) {
    unsupported(problems, path.child("scope"), { value: value.scope, supported: scopes });
  }
}

interface NameRules {
  /** Error message for further elements beside `*`. */
  readonly others: string;
  readonly mayBeEmpty: boolean;
  readonly problems: Problems;
}

function checkNames(
  names: readonly string[],
  path: Path,
  { others, mayBeEmpty, problems }: NameRules,
): void {
  if (names.length === 0) problems.required(path);
  if (names.length > 1 && names.includes("*")) {
    problems.invalid(path, names, `if '*' is present, must not specify other ${others}`);
  }
  if (mayBeEmpty) return;
  for (const [index, name] of names.entries()) {
    if (name === "") problems.required(path.index(index));
  }
}

/** Rejects elements that an earlier wildcard covers. */
function checkResources(resources: readonly string[], path: Path, problems: Problems): void {
  if (resources.length === 0) problems.required(path);
  const wholeResources = new Set<string>();
  const subresourcesOfAll = new Set<string>();
  for (const [index, entry] of resources.entries()) {
    const itemPath = path.index(index);
    if (entry === "") problems.required(itemPath);
    const slash = entry.indexOf("/");
    if (entry === "*/*" || slash < 0) continue;
    const resource = entry.slice(0, slash);
    const below = entry.slice(slash + 1);
    if (wholeResources.has(resource)) {
      const detail = `if '${resource}/*' is present, must not specify ${entry}`;
      problems.invalid(itemPath, entry, detail);
    }
    if (subresourcesOfAll.has(below)) {
      problems.invalid(itemPath, entry, `if '*/${below}' is present, must not specify ${entry}`);
    }
    if (below === "*") wholeResources.add(resource);
    if (resource === "*") subresourcesOfAll.add(below);
  }
  if (resources.length > 1 && resources.includes("*/*")) {
    problems.invalid(path, resources, "if '*/*' is present, must not specify other resources");
  }
  const plainNames = resources.filter((entry) => !entry.includes("/"));
  if (resources.includes("*") && plainNames.length > 1) {
    const detail = "if '*' is present, must not specify other resources without subresources";
    problems.invalid(path, resources, detail);
  }
}
