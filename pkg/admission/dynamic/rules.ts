import type { Resource } from "#meta";

/** A rule of a configuration: operations and resources. */
export interface Rule {
  readonly operations?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly apiVersions?: readonly string[];
  /** `pods`, `pods/log`, `pods/*`, `*` without subresources, `*` of a subresource, or both. */
  readonly resources?: readonly string[];
  readonly scope?: string;
  /** Empty = all. */
  readonly resourceNames?: readonly string[];
}

/** Attributes of a request that rules can match, except the object's name. */
export interface RequestPattern {
  readonly operation: string;
  readonly resource: Resource;
  readonly subresource: string;
}

/** Whether the rule matches such requests, considered as requests for resource `as`. */
export function ruleCovers(
  rule: Rule,
  { operation, subresource }: RequestPattern,
  as: Resource,
): boolean {
  return (
    includes(rule.operations, operation) &&
    includes(rule.apiGroups, as.group) &&
    includes(rule.apiVersions, as.version) &&
    scopeCovers(rule.scope, as) &&
    (rule.resources ?? []).some((entry) => resourceCovers(entry, as.plural, subresource))
  );
}

function includes(values: readonly string[] = [], value: string): boolean {
  return values.includes("*") || values.includes(value);
}

/** Whether the scope matches; Namespaces are cluster-scoped. */
function scopeCovers(scope: string | undefined, { kind }: Resource): boolean {
  return scope === undefined || scope === "*" || scope === kind.scope;
}

function resourceCovers(entry: string, plural: string, subresource: string): boolean {
  const slash = entry.indexOf("/");
  const resource = slash < 0 ? entry : entry.slice(0, slash);
  const below = slash < 0 ? "" : entry.slice(slash + 1);
  return (resource === "*" || resource === plural) && (below === "*" || below === subresource);
}
