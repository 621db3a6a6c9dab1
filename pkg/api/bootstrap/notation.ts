/**
 * Compact notation for the default RBAC roles. A rule is `verbs | groups | resources`, optionally
 * with ` | names`, or `verbs | paths`. Items are separated by spaces, rules end with a semicolon,
 * and the core group is spelled `core`. The prefix `[Gate]` includes a rule only while that feature
 * gate is enabled.
 *
 * `get update | core | configmaps | mine;` allows reading and updating the ConfigMap `mine`.
 */
import { type Domain, resolve } from "#meta";

export interface DefaultRole {
  /** Template. */
  readonly name: string;
  /** Absent for cluster roles. */
  readonly namespace?: string;
  /** Feature gate that must be enabled for the object to exist. */
  readonly gate?: string;
  /** User-facing role that aggregates these rules. */
  readonly aggregatedTo?: string;
  /** Aggregation label value that this role selects; it has no rules itself then. */
  readonly aggregates?: string;
  readonly rules?: string;
}

export interface DefaultBinding {
  /** Template. */
  readonly name: string;
  /** Absent for ClusterRoleBindings. */
  readonly namespace?: string;
  /** Feature gate that must be enabled for the object to exist. */
  readonly gate?: string;
  /** Name of the role; defaults to the name of the binding. */
  readonly role?: string;
  /** `User name`, `Group name` or `ServiceAccount namespace/name`. */
  readonly subjects: readonly string[];
}

interface Rule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

/** Configuration that the default objects depend on. */
export interface BootstrapContext {
  readonly domain: Domain;
  readonly gate: (name: string) => boolean;
}

type PlainObject = Readonly<Record<string, unknown>>;

export function roleObject(role: DefaultRole, context: BootstrapContext): PlainObject {
  const { domain } = context;
  const { aggregatedTo, aggregates, rules = "" } = role;
  const label = (to: string) => resolve(`rbac.authorization.{api}/aggregate-to-${to}`, domain);
  const labels = aggregatedTo === undefined ? {} : { [label(aggregatedTo)]: "true" };
  const metadata = metadataOf(role, labels, domain);
  if (aggregates === undefined) return { metadata, rules: parseRules(rules, context) };
  const clusterRoleSelectors = [{ matchLabels: { [label(aggregates)]: "true" } }];
  return { metadata, rules: null, aggregationRule: { clusterRoleSelectors } };
}

export function bindingObject(binding: DefaultBinding, { domain }: BootstrapContext): PlainObject {
  const group = resolve("rbac.authorization.{api}", domain);
  const { name, namespace, role = name } = binding;
  const kind = namespace === undefined ? "ClusterRole" : "Role";
  const subjects = binding.subjects.map((text) => subjectOf(text, group));
  return {
    metadata: metadataOf(binding, {}, domain),
    ...(subjects.length === 0 ? {} : { subjects }),
    roleRef: { apiGroup: group, kind, name: resolve(role, domain) },
  };
}

function metadataOf(
  { name, namespace }: { readonly name: string; readonly namespace?: string },
  labels: Readonly<Record<string, string>>,
  domain: Domain,
): PlainObject {
  return {
    name: resolve(name, domain),
    ...(namespace === undefined ? {} : { namespace }),
    labels: { [resolve("{label}/bootstrapping", domain)]: "rbac-defaults", ...labels },
    annotations: { [resolve("rbac.authorization.{label}/autoupdate", domain)]: "true" },
  };
}

function subjectOf(text: string, group: string): PlainObject {
  const [kind = "", name = ""] = text.split(" ");
  if (kind !== "ServiceAccount") return { kind, apiGroup: group, name };
  const [namespace, own] = name.split("/");
  return { kind, name: own, namespace };
}

function parseRules(text: string, { domain, gate }: BootstrapContext): readonly Rule[] {
  const all = resolve(text, domain)
    .split(";")
    .map((rule) => rule.trim());
  return all.filter(Boolean).flatMap((rule) => {
    const [, gateName, rest = rule] = /^\[(\w+)\]\s*(.*)$/s.exec(rule) ?? [];
    return gateName === undefined || gate(gateName) ? [parseRule(rest)] : [];
  });
}

function parseRule(text: string): Rule {
  const [verbs = [], second = [], resources, resourceNames] = text
    .split("|")
    .map((part) => part.trim().split(/\s+/));
  if (resources === undefined) return { verbs, nonResourceURLs: second };
  const apiGroups = second.map((group) => (group === "core" ? "" : group));
  return { verbs, apiGroups, resources, ...(resourceNames === undefined ? {} : { resourceNames }) };
}
