/** Matching and coverage of PolicyRules. */
import { goQuote } from "#meta";
import type { PolicyRule, RequestInfo } from "#request";

/** Prefix of a path pattern that ends in `*`; undefined = exact match. */
export function pathPrefix(pattern: string): string | undefined {
  return pattern.endsWith("*") ? pattern.replace(/\*+$/, "") : undefined;
}

/** Whether a path pattern covers a path or pattern. */
function pathCovers(pattern: string, path: string): boolean {
  const prefix = pathPrefix(pattern);
  return prefix === undefined ? path === pattern : path.startsWith(prefix);
}

/** Whether a rule allows a resource request. */
export function allowsResource(rule: PolicyRule, request: RequestInfo): boolean {
  const { group, resource, subresource, verb, name } = request;
  const whole = subresource === "" ? resource : `${resource}/${subresource}`;
  const names = rule.resourceNames ?? [];
  return (
    covers(rule.verbs, [verb]) &&
    covers(rule.apiGroups, [group]) &&
    coversResource(rule.resources ?? [], whole) &&
    (names.length === 0 || names.includes(name))
  );
}

/** Whether a rule allows a non-resource request. */
export function allowsPath(rule: PolicyRule, { path, verb }: RequestInfo): boolean {
  const patterns = rule.nonResourceURLs ?? [];
  return covers(rule.verbs, [verb]) && patterns.some((pattern) => pathCovers(pattern, path));
}

/** Breaks a rule down into atoms: one verb on one resource or path each. */
function breakDown(rule: PolicyRule): readonly PolicyRule[] {
  return (rule.verbs ?? []).flatMap((verb) => atoms(rule, verb));
}

function atoms(rule: PolicyRule, verb: string): readonly PolicyRule[] {
  const paths = (rule.nonResourceURLs ?? []).map((url) => ({
    verbs: [verb],
    nonResourceURLs: [url],
  }));
  const names = rule.resourceNames ?? [];
  const resources = (rule.apiGroups ?? []).flatMap((group) =>
    (rule.resources ?? []).flatMap((resource): PolicyRule[] => {
      const atom = { verbs: [verb], apiGroups: [group], resources: [resource] };
      if (names.length === 0) return [atom];
      return names.map((name) => ({ ...atom, resourceNames: [name] }));
    }),
  );
  return [...resources, ...paths];
}

/** Maximum number of atoms: rules beyond it stay whole, since three lists of a thousand make a billion. */
const maxAtoms = 10_000;

/** Atoms of `wanted` that `held` does not cover. */
export function uncoveredRules(
  held: readonly PolicyRule[],
  wanted: readonly PolicyRule[],
): readonly PolicyRule[] {
  const isHeld = (atom: PolicyRule) => held.some((rule) => includes(rule, atom));
  const rest = wanted.filter((rule) => !isHeld(rule));
  let remaining = maxAtoms;
  const parts = rest.flatMap((rule) => {
    remaining -= ruleSize(rule);
    return remaining < 0 ? [rule] : breakDown(rule);
  });
  return parts.filter((atom) => !isHeld(atom));
}

/** Number of atoms of a rule. */
export function ruleSize(rule: PolicyRule): number {
  const lengths = [rule.apiGroups, rule.resources].map((list) => list?.length ?? 0);
  const [groups = 0, resources = 0] = lengths;
  const names = Math.max(rule.resourceNames?.length ?? 0, 1);
  const paths = rule.nonResourceURLs?.length ?? 0;
  // Verbs may be absent before validation.
  return (rule.verbs?.length ?? 0) * (groups * resources * names + paths);
}

/** Whether a rule covers an atom. */
function includes(rule: PolicyRule, atom: PolicyRule): boolean {
  return (
    covers(rule.verbs, atom.verbs) &&
    covers(rule.apiGroups, atom.apiGroups) &&
    (atom.resources ?? []).every((resource) => coversResource(rule.resources ?? [], resource)) &&
    coversNames(rule.resourceNames ?? [], atom.resourceNames ?? []) &&
    (atom.nonResourceURLs ?? []).every((url) =>
      (rule.nonResourceURLs ?? []).some((pattern) => pathCovers(pattern, url)),
    )
  );
}

type Strings = readonly string[] | null | undefined;

/** Whether a list of a rule covers the wanted values. */
function covers(held: Strings, wanted: Strings): boolean {
  const all = held ?? [];
  return all.includes("*") || (wanted ?? []).every((each) => all.includes(each));
}

function coversResource(held: readonly string[], resource: string): boolean {
  if (held.includes("*") || held.includes(resource)) return true;
  const slash = resource.indexOf("/");
  return slash >= 0 && held.includes(`*${resource.slice(slash)}`);
}

function coversNames(held: readonly string[], wanted: readonly string[]): boolean {
  if (held.length === 0) return true;
  return wanted.length > 0 && wanted.every((name) => held.includes(name));
}

/** Prints atoms like Kubernetes: merged per resource, sorted by their text. */
export function listRules(missing: readonly PolicyRule[]): string {
  const merged = new Map<string, PolicyRule>();
  for (const atom of missing) {
    const key = JSON.stringify({ ...atom, verbs: [], url: atom.nonResourceURLs && atom.verbs });
    const known = merged.get(key);
    const verbs = [...new Set([...(known?.verbs ?? []), ...atom.verbs])];
    merged.set(key, { ...atom, verbs });
  }
  return [...merged.values()].map(ruleText).sort().join("\n");
}

function ruleText(rule: PolicyRule): string {
  const parts = [
    ["APIGroups", rule.apiGroups],
    ["Resources", rule.resources],
    ["NonResourceURLs", rule.nonResourceURLs],
    ["ResourceNames", rule.resourceNames],
    ["Verbs", rule.verbs],
  ] as const;
  const fields = parts
    .filter(([, values]) => (values ?? []).length > 0)
    .map(([name, values]) => `${name}:${quoteList(values ?? [])}`);
  return `{${fields.join(", ")}}`;
}

/** Prints strings like Go's `%q` of a slice. */
export function quoteList(values: readonly string[]): string {
  return `[${values.map(goQuote).join(" ")}]`;
}
