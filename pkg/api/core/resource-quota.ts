import { resourceList } from "./shared/resources.ts";
import {
  required,
  type Infer,
  list,
  named,
  pointer,
  Path,
  value,
  type Problems,
  string,
  structs,
} from "#schema";
import { kind, objectMeta } from "#meta";
import { ageColumn, ageOf, column, nameColumn, nameOf } from "../printing.ts";
import { splitByStatusSubresource, entry, fieldImmutableMessage, sortedKeys } from "../strategy.ts";
import { roundAmounts } from "./shared/resource-amounts.ts";
import {
  checkQuotaResourceName,
  checkResourceQuantity,
  isStandardQuotaName,
} from "./shared/resource-names.ts";

const v1 = structs("api/core/v1");

const scopedResourceSelectorRequirement = v1(
  "ScopedResourceSelectorRequirement",
  "Requirement on a quota scope: scope name, operator and values.",
  {
    scopeName: required(
      1,
      named(
        "v1.ResourceQuotaScope",
        "Terminating",
        "NotTerminating",
        "BestEffort",
        "NotBestEffort",
        "PriorityClass",
        "CrossNamespacePodAffinity",
        "VolumeAttributesClass",
      ),
      "Name of the scope: one of Terminating, NotTerminating, BestEffort, NotBestEffort, " +
        "PriorityClass, CrossNamespacePodAffinity, VolumeAttributesClass.",
    ),
    operator: required(
      2,
      named("v1.ScopeSelectorOperator", "In", "NotIn", "Exists", "DoesNotExist"),
      "Relationship of the scope to the values: one of In, NotIn, Exists, DoesNotExist. Scopes " +
        "other than PriorityClass and VolumeAttributesClass allow Exists only.",
    ),
    values: value(
      3,
      list(string),
      "Values to compare with. Must be nonempty for In and NotIn, and empty for Exists and " +
        "DoesNotExist.",
      { listType: "atomic" },
    ),
  },
);

const scopeSelector = v1(
  "ScopeSelector",
  "Selects the objects that a quota counts by scope.",
  {
    matchExpressions: value(
      1,
      list(scopedResourceSelectorRequirement),
      "Scope selector requirements, which are ANDed.",
      {
        listType: "atomic",
      },
    ),
  },
  { atomic: true },
);

const resourceQuotaSpec = v1(
  "ResourceQuotaSpec",
  "Hard limits to enforce, and the scopes of objects that they count.",
  {
    hard: value(
      1,
      resourceList,
      "Hard limits by resource, for example cpu, requests.memory, limits.cpu, requests.storage, " +
        "pods or count/<resource>.<group>.",
    ),
    scopes: value(
      2,
      list(
        named(
          "v1.ResourceQuotaScope",
          "Terminating",
          "NotTerminating",
          "BestEffort",
          "NotBestEffort",
          "PriorityClass",
          "CrossNamespacePodAffinity",
          "VolumeAttributesClass",
        ),
      ),
      "Scopes that objects must match, all of them, to be counted: Terminating, NotTerminating, " +
        "BestEffort, NotBestEffort, PriorityClass, CrossNamespacePodAffinity, " +
        "VolumeAttributesClass. Immutable.",
      { listType: "atomic" },
    ),
    scopeSelector: pointer(
      3,
      scopeSelector,
      "Scope selector requirements that objects must match, in addition to scopes, to be counted.",
    ),
  },
);

const resourceQuotaStatus = v1(
  "ResourceQuotaStatus",
  "Enforced limits of a ResourceQuota and their observed usage.",
  {
    hard: value(1, resourceList, "Hard limits that are currently enforced, by resource."),
    used: value(2, resourceList, "Current total usage in the namespace, by resource."),
  },
);

const resourceQuotaV1 = v1(
  "ResourceQuota",
  "ResourceQuota limits the total resource usage and object counts of a namespace. Admission " +
    "rejects requests that would exceed it.",
  {
    metadata: value(1, objectMeta, "Standard object metadata."),
    spec: value(2, resourceQuotaSpec, "Hard limits, and scopes that restrict the objects counted."),
    status: value(
      3,
      resourceQuotaStatus,
      "Enforced limits and current usage, maintained by admission and the resource quota " +
        "controller. Read-only.",
    ),
  },
);

type ResourceQuota = Infer<typeof resourceQuotaV1>;
type Spec = ResourceQuota["spec"];

const podNames = ["pods"];
const podComputeNames = ["cpu", "memory"].flatMap((name) => [
  name,
  `limits.${name}`,
  `requests.${name}`,
]);
const allPodNames = [...podNames, ...podComputeNames];

/** Scope -> resources that it can be applied to. */
const scopeResources: Readonly<Record<string, readonly string[]>> = {
  Terminating: allPodNames,
  NotTerminating: allPodNames,
  BestEffort: podNames,
  NotBestEffort: allPodNames,
  PriorityClass: allPodNames,
  CrossNamespacePodAffinity: allPodNames,
  VolumeAttributesClass: ["persistentvolumeclaims", "requests.storage"],
};

/** Scopes that support only the operators Exists and DoesNotExist. */
const existenceScopes = [
  "BestEffort",
  "NotBestEffort",
  "Terminating",
  "NotTerminating",
  "CrossNamespacePodAffinity",
];

const opposites = [
  ["BestEffort", "NotBestEffort"],
  ["Terminating", "NotTerminating"],
];

/** Number of limited resources that the scope cannot be applied to. */
function countInapplicable(scope: string, spec: Spec): number {
  const fitting = entry(scopeResources, scope);
  if (fitting === undefined) return 0;
  return sortedKeys(spec.hard).filter(
    (name) => isStandardQuotaName(name) && !fitting.includes(name),
  ).length;
}

function conflicts(scopes: readonly string[]): number {
  return opposites.filter((pair) => pair.every((scope) => scopes.includes(scope))).length;
}

function repeat(times: number, action: () => void): void {
  for (let i = 0; i < times; i++) action();
}

function checkScopes(spec: Spec, problems: Problems): void {
  const path = Path.of("spec.scopes");
  const scopes = spec.scopes ?? [];
  for (const scope of scopes) {
    if (!Object.hasOwn(scopeResources, scope)) problems.invalid(path, scopes, "unsupported scope");
    repeat(countInapplicable(scope, spec), () =>
      problems.invalid(path, scopes, "unsupported scope applied to resource"),
    );
  }
  repeat(conflicts(scopes), () => problems.invalid(path, scopes, "conflicting scopes"));
}

type Requirement = NonNullable<NonNullable<Spec["scopeSelector"]>["matchExpressions"]>[number];

function checkRequirement(requirement: Requirement, problems: Problems): void {
  const path = Path.of("spec.scopeSelector.matchExpressions");
  const { scopeName, operator, values = [] } = requirement;
  if (existenceScopes.includes(scopeName) && operator !== "Exists") {
    const scopes = existenceScopeNames;
    problems.invalid(
      path.child("operator"),
      operator,
      `must be 'Exists' when scope is any of ${scopes}`,
    );
  }
  switch (operator) {
    case "In":
    case "NotIn":
      if (values.length > 0) return;
      return problems.required(
        path.child("values"),
        "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
      );
    case "Exists":
    case "DoesNotExist":
      if (values.length === 0) return;
      return problems.invalid(
        path.child("values"),
        values,
        "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
      );
    default:
      problems.invalid(path.child("operator"), operator, "not a valid selector operator");
  }
}

/** Names of Go's constants, as in Kubernetes' message. */
const existenceScopeNames =
  "ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort" +
  ", ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";

function checkScopeSelector(spec: Spec, problems: Problems): void {
  if (spec.scopeSelector === undefined) return;
  const path = Path.of("spec.scopeSelector.matchExpressions");
  const requirements = spec.scopeSelector.matchExpressions ?? [];
  // Reported with the field names of Go's struct, as in Kubernetes.
  const reported = {
    MatchExpressions: requirements.map(({ scopeName, operator, values }) => ({
      ScopeName: scopeName,
      Operator: operator,
      Values: values ?? null,
    })),
  };
  for (const requirement of requirements) {
    const scope = requirement.scopeName;
    if (!Object.hasOwn(scopeResources, scope)) {
      problems.invalid(path.child("scopeName"), scope, "unsupported scope");
    }
    repeat(countInapplicable(scope, spec), () =>
      problems.invalid(path, reported, "unsupported scope applied to resource"),
    );
    checkRequirement(requirement, problems);
  }
  repeat(conflicts(requirements.map(({ scopeName }) => scopeName)), () =>
    problems.invalid(path, spec.scopes ?? null, "conflicting scopes"),
  );
}

function checkResources(
  resources: Readonly<Record<string, string>> | undefined,
  path: Path,
  problems: Problems,
): void {
  for (const name of sortedKeys(resources)) {
    checkQuotaResourceName(name, path.key(name), problems);
    const amount = { name, quantity: entry(resources, name) ?? "0" };
    checkResourceQuantity(amount, path.key(name), problems);
  }
}

function checkStatus({ status }: ResourceQuota, problems: Problems): void {
  checkResources(status.hard, Path.of("status.hard"), problems);
  checkResources(status.used, Path.of("status.used"), problems);
}

function checkSpec({ spec }: ResourceQuota, problems: Problems): void {
  checkResources(spec.hard, Path.of("spec.hard"), problems);
  checkScopes(spec, problems);
  checkScopeSelector(spec, problems);
}

function sameSet(left: readonly string[] = [], right: readonly string[] = []): boolean {
  const [scopes, others] = [new Set(left), new Set(right)];
  return scopes.size === others.size && [...scopes].every((each) => others.has(each));
}

/** Table cell of used and hard amounts of the selected resources: `cpu: 500m/2, pods: 3/20`. */
function usage({ status }: ResourceQuota, select: (name: string) => boolean): string {
  return sortedKeys(status.hard)
    .filter(select)
    .map((name) => `${name}: ${entry(status.used, name) ?? "0"}/${entry(status.hard, name)}`)
    .join(", ");
}

const isLimit = (name: string) => name.startsWith("limits");

export const resourceQuota = kind(resourceQuotaV1, {
  group: "",
  kind: "ResourceQuota",
  plural: "resourcequotas",
  shortNames: ["quota"],
  scope: "Namespaced",
  versions: [{ version: "v1", struct: resourceQuotaV1, onByDefault: true, convert: "hub" }],
  subresources: [{ name: "status", verbs: ["get", "patch", "update"] }],
  rules: { deleteReturnsObject: true },
  hooks: {
    ...splitByStatusSubresource(() => ({})),
    default: ({ spec, status }) => [spec.hard, status.hard, status.used].forEach(roundAmounts),
    validate: (object, problems) => {
      checkSpec(object, problems);
      checkStatus(object, problems);
    },
    validateUpdate: (object, old, problems, { subresource }) => {
      if (subresource === "status") return checkStatus(object, problems);
      checkSpec(object, problems);
      if (sameSet(object.spec.scopes, old.spec.scopes)) return;
      problems.invalid(Path.of("spec.scopes"), object.spec.scopes ?? null, fieldImmutableMessage);
    },
  },
  columns: [
    nameColumn,
    column("Request", "Usage and limit of requests and object counts."),
    column("Limit", "Usage and limit of resource limits."),
    ageColumn,
  ],
  row: (object, context) => [
    nameOf(object),
    usage(object, (name) => !isLimit(name)),
    usage(object, isLimit),
    ageOf(object, context),
  ],
});
