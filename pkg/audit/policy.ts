import type { RequestInfo, User } from "#request";
import { type Level, levels, type Policy, type PolicyRule, type Stage } from "./policy-file.ts";

/** Audit level and options of one request. */
export interface AuditDecision {
  readonly level: Level;
  readonly omittedStages: ReadonlySet<Stage>;
  /** Whether to omit managedFields from bodies. */
  readonly omitsManagedFields: boolean;
}

/** Names that match; undefined = all. */
type Names = ReadonlySet<string> | undefined;

interface CompiledRule {
  readonly decision: AuditDecision;
  readonly users: Names;
  readonly groups: readonly string[];
  readonly verbs: Names;
  readonly namespaces: Names;
  readonly resources: readonly CompiledResources[];
  readonly paths: readonly string[];
}

interface CompiledResources {
  readonly group: string;
  readonly plurals: readonly string[];
  readonly names: Names;
}

/** Compiles a policy: the first matching rule decides; without one, the level is None. */
export function policyEvaluator(
  policy: Policy,
): (info: RequestInfo, user: User | undefined) => AuditDecision {
  const rules = (policy.rules ?? []).map((rule) => compile(rule, policy));
  const none: AuditDecision = {
    level: "None",
    omittedStages: new Set(),
    omitsManagedFields: false,
  };
  return (info, user) => rules.find((rule) => matches(rule, info, user))?.decision ?? none;
}

/** Whether a level is at least `least`. */
export function isAtLeast(level: Level, least: Level): boolean {
  return levels.indexOf(level) >= levels.indexOf(least);
}

function compile(rule: PolicyRule, policy: Policy): CompiledRule {
  const omitted = [...(policy.omitStages ?? []), ...(rule.omitStages ?? [])];
  return {
    decision: {
      level: rule.level as Level,
      omittedStages: new Set(omitted as Stage[]),
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

function matches(rule: CompiledRule, info: RequestInfo, user: User | undefined): boolean {
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
function matchesResource({ namespaces, resources }: CompiledRule, info: RequestInfo): boolean {
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
