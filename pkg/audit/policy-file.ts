import {
  ConfigurationFault,
  decodeConfiguration,
  type Domain,
  isDns1123Subdomain,
  refuseProblems,
  resolve,
} from "#meta";
import { bool, type Infer, list, pointer, Path, value, Problems, string, structs } from "#schema";

export const levels = ["None", "Metadata", "Request", "RequestResponse"] as const;
export type Level = (typeof levels)[number];

const stages = ["RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"] as const;
export type Stage = (typeof stages)[number];

const v1 = structs("apiserver/pkg/apis/audit/v1");

const groupResources = v1("GroupResources", "Resources of one API group.", {
  group: value(1, string, "Name of the group; empty for the core group."),
  resources: value(2, list(string), "Resources and subresources; none = all of the group."),
  resourceNames: value(3, list(string), "Names of objects; none = all."),
});

const policyRule = v1("PolicyRule", "Audit level of the requests that match.", {
  level: value(1, string, "Audit level of the requests."),
  users: value(2, list(string), "Names of users; none = all."),
  userGroups: value(3, list(string), "Groups of users; none = all."),
  verbs: value(4, list(string), "Verbs; none = all."),
  resources: value(5, list(groupResources), "Resources; none = all."),
  namespaces: value(6, list(string), 'Namespaces, "" for cluster-scoped resources; none = all.'),
  nonResourceURLs: value(7, list(string), "Non-resource paths; may end in an asterisk."),
  omitStages: value(8, list(string), "Stages for which no events are created."),
  omitManagedFields: pointer(9, bool, "Whether to omit managedFields from bodies."),
});

const policyV1 = v1("Policy", "Audit policy: which requests are recorded, and at which level.", {
  metadata: value(
    1,
    v1("PolicyMetadata", "Metadata of the policy.", {
      name: value(1, string, "Ignored."),
      creationTimestamp: pointer(2, string, "Ignored."),
    }),
    "Metadata of the policy.",
  ),
  rules: value(
    2,
    list(policyRule),
    "Rules in order; the first that matches applies. Without a match, level None.",
  ),
  omitStages: value(3, list(string), "Stages for which no request has events."),
  omitManagedFields: value(4, bool, "Whether to omit managedFields from bodies."),
});

export type PolicyRule = Infer<typeof policyRule>;
export type Policy = Infer<typeof policyV1>;

/**
 * Strictly parses an `audit.k8s.io/v1` Policy (YAML or JSON).
 * @throws ConfigurationFault
 */
export function readPolicy(text: string, domain: Domain): Policy {
  const policy = decodeConfiguration(text, policyV1, [resolve("audit.{api}/v1", domain)]);
  const problems = new Problems();
  validate(policy, problems);
  refuseProblems(problems);
  if (policy.rules?.length) return policy;
  throw new ConfigurationFault("the audit policy has no rules");
}

function validate(policy: Policy, problems: Problems): void {
  checkStages(policy.omitStages, Path.of("omitStages"), problems);
  for (const [index, rule] of (policy.rules ?? []).entries()) {
    checkRule(rule, Path.of("rules").index(index), problems);
  }
}

function checkRule(rule: PolicyRule, path: Path, problems: Problems): void {
  const { level = "" } = rule;
  if (level === "") problems.required(path.child("level"));
  else if (!isLevel(level)) problems.notSupported(path.child("level"), level, levels);
  const urls = rule.nonResourceURLs ?? [];
  const urlsPath = path.child("nonResourceURLs");
  for (const [index, url] of urls.entries()) checkUrl(url, urlsPath.index(index), problems);
  checkResources(rule, path, problems);
  checkStages(rule.omitStages, path.child("omitStages"), problems);
  const resourceFields = (rule.resources ?? []).length + (rule.namespaces ?? []).length;
  if (urls.length > 0 && resourceFields > 0) {
    const detail = "rules cannot apply to both regular resources and non-resource URLs";
    problems.invalid(urlsPath, urls, detail);
  }
}

function checkUrl(url: string, path: Path, problems: Problems): void {
  if (url === "*") return;
  if (!url.startsWith("/")) {
    problems.invalid(path, url, "non-resource URL rules must begin with a '/' character");
  }
  if (url.slice(0, -1).includes("*")) {
    const detail = "non-resource URL wildcards '*' must be the final character of the rule";
    problems.invalid(path, url, detail);
  }
}

function checkResources({ resources }: PolicyRule, path: Path, problems: Problems): void {
  for (const { group = "", resources: plurals, resourceNames: names } of resources ?? []) {
    const resourcesPath = path.child("resources");
    const wrong = group === "" ? [] : isDns1123Subdomain(group);
    if (wrong.length > 0) problems.invalid(resourcesPath.child("group"), group, wrong.join(","));
    if ((names ?? []).length > 0 && (plurals ?? []).length === 0) {
      const detail = "using resourceNames requires at least one resource";
      problems.invalid(resourcesPath.child("resourceNames"), names, detail);
    }
  }
}

function checkStages(omitted: readonly string[] | undefined, path: Path, problems: Problems): void {
  const known = stages.toSorted();
  for (const [index, stage] of (omitted ?? []).entries()) {
    if (known.some((name) => name === stage)) continue;
    problems.invalid(path.index(index), stage, `allowed stages are ${known.join(",")}`);
  }
}

function isLevel(text: string): text is Level {
  return levels.some((level) => level === text);
}
