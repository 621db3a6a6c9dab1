import type { RequestInfo, User } from "#request";
import { type Level, levels, type Policy, type PolicyRule, type Stage } from "./policy-file.ts";

/** Audit level and options of one request. */
export interface AuditDecision {
  readonly level: Level;
  readonly omitted: ReadonlySet<Stage>;
  /** Whether to omit managedFields from bodies. */
  readonly omitsManagedFields: boolean;
}

type Names = ReadonlySet<string> | undefined;

interface ReadyRule {
  readonly decision: AuditDecision;
  readonly users: Names;
  readonly groups: readonly string[];
  readonly verbs: Names;
  readonly namespaces: Names;
  readonly resources: readonly ReadyResources[];
  readonly paths: readonly string[];
}

interface ReadyResources {
  readonly group: string;
  readonly plurals: readonly string[];
  readonly names: Names;
}

/** Decision of the first matching rule; without one, level None. */
export function policyEvaluator(
  policy: Policy,
): (info: RequestInfo, user: User | undefined) => AuditDecision {
  const rules = (policy.rules ?? []).map((rule) => ready(rule, policy));
  const nothing: AuditDecision = { level: "None", omitted: new Set(), omitsManagedFields: false };
  return (info, user) => rules.find((rule) => matches(rule, info, user))?.decision ?? nothing;
}

/** Whether a level is at least `least`. */
export function isAtLeast(level: Level, least: Level): boolean {
  return levels.indexOf(level) >= levels.indexOf(least);
}

function ready(rule: PolicyRule, policy: Policy): ReadyRule {
  const omitted = [...(policy.omitStages ?? []), ...(rule.omitStages ?? [])];
  return {
    decision: {
      level: rule.level as Level,
      omitted: new Set(omitted as Stage[]),
      omitsManagedFields: rule.omitManagedFields ?? policy.omitManagedFields ?? false,
    },
    users: names(rule.users),
    groups: rule.userGroups ?? [],
    verbs: names(rule.verbs),
    namespaces: names(rule.namespaces),
    resources: (rule.resources ?? []).map(({ group = "", resources, resourceNames }) => ({
      group,
      plurals: resources ?? [],
      names: names(resourceNames),
    })),
    paths: rule.nonResourceURLs ?? [],
  };
}

function names(list: readonly string[] | undefined): Names {
  return list === undefined || list.length === 0 ? undefined : new Set(list);
}

function matches(rule: ReadyRule, info: RequestInfo, user: User | undefined): boolean {
  if (rule.users !== undefined && (user === undefined || !rule.users.has(user.name))) return false;
  const { groups } = rule;
  if (groups.length > 0 && !user?.groups.some((group) => groups.includes(group))) return false;
  if (rule.verbs !== undefined && !rule.verbs.has(info.verb)) return false;
  if (rule.namespaces !== undefined || rule.resources.length > 0) {
    return info.isResource && matchesResource(rule, info);
  }
  if (rule.paths.length === 0) return true;
  return !info.isResource && rule.paths.some((pattern) => matchesPath(pattern, info.path));
}

/** Whether a rule matches a resource request; cluster-scoped objects have namespace "". */
function matchesResource({ namespaces, resources }: ReadyRule, info: RequestInfo): boolean {
  if (namespaces !== undefined && !namespaces.has(info.namespace)) return false;
  if (resources.length === 0) return true;
  return resources.some(({ group, plurals, names: objects }) => {
    if (group !== info.group) return false;
    if (plurals.length === 0) return true;
    if (objects !== undefined && !objects.has(info.name)) return false;
    return plurals.some((pattern) => matchesPlural(pattern, info));
  });
}

/** Matches `pods`, `pods/log`, `pods/*` (pods and their subresources), `*\/log`, `*`. */
function matchesPlural(pattern: string, { resource, subresource }: RequestInfo): boolean {
  const combined = subresource === "" ? resource : `${resource}/${subresource}`;
  if (pattern === "*" || pattern === combined) return true;
  if (subresource !== "" && pattern === `*/${subresource}`) return true;
  return pattern === `${resource}/*`;
}

function matchesPath(pattern: string, path: string): boolean {
  if (pattern.endsWith("*")) return path.startsWith(pattern.slice(0, -1));
  return path === pattern;
}
