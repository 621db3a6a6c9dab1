import type { Resource } from "#meta";

/** Which operations on which resources are meant, as configurations say it. */
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

/** What requests have in common that rules cannot tell apart but by names of objects. */
export interface Aim {
  readonly operation: string;
  readonly resource: Resource;
  readonly subresource: string;
}

/** Whether the rule is about such requests, seen as those of the resource `as`. */
export function ruleCovers(rule: Rule, { operation, subresource }: Aim, as: Resource): boolean {
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

/** Namespaces are objects of the cluster. */
function scopeCovers(scope: string | undefined, { kind }: Resource): boolean {
  return scope === undefined || scope === "*" || scope === kind.scope;
}

function resourceCovers(entry: string, plural: string, subresource: string): boolean {
  const slash = entry.indexOf("/");
  const resource = slash < 0 ? entry : entry.slice(0, slash);
  const below = slash < 0 ? "" : entry.slice(slash + 1);
  return (resource === "*" || resource === plural) && (below === "*" || below === subresource);
}
