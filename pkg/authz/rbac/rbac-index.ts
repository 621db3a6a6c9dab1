import { goQuote } from "#meta";
import type { PolicyRule, RequestInfo, User } from "#request";
import { allowsPath, allowsResource, pathPrefix, ruleSize } from "./policy-rules.ts";

/** A Role or ClusterRole in the index. */
interface Role {
  readonly rules: readonly PolicyRule[];
}

/** A stored RoleBinding or ClusterRoleBinding. */
export interface Binding {
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly subjects?: readonly Subject[];
  readonly roleRef: { readonly kind: string; readonly name: string };
}

interface Subject {
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

/** A binding for one of its subjects. */
interface Bound {
  /** Key of the role, see `roleKey`. */
  readonly role: string;
  /** Reason of a decision: `RoleBinding "b/ns" of Role "r" to User "u"`. */
  readonly reason: string;
  /** Error if the role is missing: `role.rbac.authorization.k8s.io "r" not found`. */
  readonly danglingText: string;
}

/** A rule granted by a binding. */
interface Grant {
  /** resourceNames; undefined = all. */
  readonly names: ReadonlySet<string> | undefined;
  readonly bound: Bound;
}

interface PrefixGrant {
  readonly verbs: ReadonlySet<string>;
  readonly prefix: string;
  readonly grant: Grant;
}

interface WideGrant {
  readonly rule: PolicyRule;
  readonly grant: Grant;
}

/** Rules of one subject in one scope, indexed for lookup. */
interface Compiled {
  /** Grants by `ruleKey`. */
  readonly resources: ReadonlyMap<string, readonly Grant[]>;
  /** Grants by verb and exact path. */
  readonly paths: ReadonlyMap<string, Grant>;
  /** Grants of path patterns, without the trailing `*`. */
  readonly prefixes: readonly PrefixGrant[];
  /** Rules with more than `maxKeys` keys, which are checked one by one. */
  readonly wide: readonly WideGrant[];
  readonly dangling: readonly string[];
}

/** Bindings of one subject in one scope; compiled lazily after a change. */
class Grants {
  readonly bounds = new Map<string, Bound>();
  compiled: Compiled | undefined;
}

/** Namespace -> subject -> grants; the namespace of cluster bindings is "". */
type Scopes = Map<string, Map<string, Grants>>;

export type BindingKind = "ClusterRoleBinding" | "RoleBinding";
export type RoleKind = "ClusterRole" | "Role";

/**
 * Index of roles and bindings by subject, so that a decision looks up only the user's bindings, and of those
 * only rules with the request's verb and resource. Example: for RoleBinding "b" in "ns" of Role "r" (get
 * pods) to user "u", `scopes.get("ns").get("user u")` has one bound, whose compiled form has one grant under
 * get, "", pods. A change of "r" invalidates only that compiled form.
 */
export class RbacIndex {
  private readonly roles = new Map<string, Role>();
  private readonly scopes: Scopes = new Map();
  /** Namespace and subject of each entry of a binding, by kind and key. */
  private readonly entries = new Map<string, readonly (readonly [string, string])[]>();
  /** Grants whose compiled form depends on a role, by role key. */
  private readonly dependents = new Map<string, Set<Grants>>();

  /** `group` is the resolved API group of roles, for messages. */
  constructor(private readonly group: string) {}

  setRole(key: string, rules: readonly PolicyRule[] | null | undefined): void {
    this.roles.set(key, { rules: rules ?? [] });
    this.invalidate(key);
  }

  deleteRole(key: string): void {
    this.roles.delete(key);
    this.invalidate(key);
  }

  roleRules(key: string): readonly PolicyRule[] | undefined {
    return this.roles.get(key)?.rules;
  }

  setBinding(kind: BindingKind, binding: Binding): void {
    const { name, namespace = "" } = binding.metadata;
    const key = objectKey(namespace, name);
    this.deleteBinding(kind, key);
    const places: (readonly [string, string])[] = [];
    for (const subject of binding.subjects ?? []) {
      const who = subjectKey(subject, namespace);
      if (who === undefined) continue;
      const grants = this.grantsOf(namespace, who);
      if (grants.bounds.has(key)) continue;
      const bound = this.boundOf(kind, binding, subject);
      grants.bounds.set(key, bound);
      grants.compiled = undefined;
      this.dependentsOf(bound.role).add(grants);
      places.push([namespace, who]);
    }
    this.entries.set(`${kind} ${key}`, places);
  }

  deleteBinding(kind: BindingKind, key: string): void {
    const places = this.entries.get(`${kind} ${key}`);
    if (places === undefined) return;
    this.entries.delete(`${kind} ${key}`);
    for (const [namespace, who] of places) this.removeEntry(namespace, who, key);
  }

  /** All keys of a kind, to find deleted objects after a relist. */
  keys(kind: BindingKind | RoleKind): readonly string[] {
    if (kind === "ClusterRole" || kind === "Role") {
      const clusterWide = kind === "ClusterRole";
      return [...this.roles.keys()].filter((key) => key.startsWith("/") === clusterWide);
    }
    const prefix = `${kind} `;
    const all = [...this.entries.keys()].filter((key) => key.startsWith(prefix));
    return all.map((key) => key.slice(prefix.length));
  }

  /** The binding that allows a request; otherwise the errors of bound but missing roles. */
  find(user: User, request: RequestInfo): { readonly reason: string } | readonly string[] {
    const dangling: string[] = [];
    const keys = request.isResource ? resourceKeys(request) : [];
    for (const compiled of this.compiledOf(user, request.isResource ? request.namespace : "")) {
      const grant =
        (request.isResource
          ? findResource(compiled, keys, request.name)
          : findPath(compiled, request)) ?? findWide(compiled, request);
      if (grant !== undefined) return grant.bound;
      dangling.push(...compiled.dangling);
    }
    return dangling;
  }

  /** All rules of a user in a namespace, in the order of bindings. */
  rulesOf(
    user: User,
    namespace: string,
  ): { readonly rules: readonly PolicyRule[]; readonly dangling: readonly string[] } {
    const rules: PolicyRule[] = [];
    const dangling: string[] = [];
    const seen = new Set<string>();
    for (const grants of this.grantsFor(user, namespace)) {
      for (const [key, { role, danglingText }] of grants.bounds) {
        // A binding that matches the user through several subjects counts once.
        const once = `${role} ${key}`;
        if (seen.has(once)) continue;
        seen.add(once);
        const found = this.roles.get(role);
        if (found === undefined) dangling.push(danglingText);
        else rules.push(...found.rules);
      }
    }
    return { rules, dangling };
  }

  private *grantsFor(user: User, namespace: string): Iterable<Grants> {
    const scopes = namespace === "" ? [""] : ["", namespace];
    for (const scope of scopes) {
      const bySubject = this.scopes.get(scope);
      if (bySubject === undefined) continue;
      const own = bySubject.get(`user ${user.name}`);
      if (own !== undefined) yield own;
      for (const group of user.groups) {
        const grants = bySubject.get(`group ${group}`);
        if (grants !== undefined) yield grants;
      }
    }
  }

  private *compiledOf(user: User, namespace: string): Iterable<Compiled> {
    for (const grants of this.grantsFor(user, namespace)) {
      yield (grants.compiled ??= compile(grants, this.roles));
    }
  }

  private boundOf(kind: BindingKind, binding: Binding, subject: Subject): Bound {
    const { name, namespace = "" } = binding.metadata;
    const { roleRef } = binding;
    const isLocal = kind === "RoleBinding";
    const shown = isLocal ? `${name}/${namespace}` : name;
    const account = `${subject.name}/${subject.namespace || namespace}`;
    const whom = subject.kind === "ServiceAccount" ? account : subject.name;
    return {
      role: roleKey(roleRef, namespace),
      reason:
        `${kind} ${goQuote(shown)} of ${roleRef.kind} ${goQuote(roleRef.name)} ` +
        `to ${subject.kind} ${goQuote(whom)}`,
      danglingText: `${roleRef.kind.toLowerCase()}.${this.group} ${goQuote(roleRef.name)} not found`,
    };
  }

  private grantsOf(namespace: string, who: string): Grants {
    const bySubject = orMake(this.scopes, namespace, () => new Map<string, Grants>());
    return orMake(bySubject, who, () => new Grants());
  }

  private dependentsOf(role: string): Set<Grants> {
    return orMake(this.dependents, role, () => new Set<Grants>());
  }

  private removeEntry(namespace: string, who: string, key: string): void {
    const bySubject = this.scopes.get(namespace);
    const grants = bySubject?.get(who);
    const bound = grants?.bounds.get(key);
    if (bySubject === undefined || grants === undefined || bound === undefined) return;
    grants.bounds.delete(key);
    grants.compiled = undefined;
    const dependents = this.dependentsOf(bound.role);
    if (!uses(grants, bound.role)) dependents.delete(grants);
    if (dependents.size === 0) this.dependents.delete(bound.role);
    if (grants.bounds.size === 0) bySubject.delete(who);
    if (bySubject.size === 0) this.scopes.delete(namespace);
  }

  private invalidate(role: string): void {
    for (const grants of this.dependents.get(role) ?? []) grants.compiled = undefined;
  }
}

function uses({ bounds }: Grants, role: string): boolean {
  for (const bound of bounds.values()) if (bound.role === role) return true;
  return false;
}

/** `namespace/name`; the namespace of cluster-scoped objects is "". */
export function objectKey(namespace: string | undefined, name: string): string {
  return `${namespace ?? ""}/${name}`;
}

/** Key of the referenced role; `namespace` is that of the binding. */
export function roleKey(
  { kind, name }: { readonly kind: string; readonly name: string },
  namespace: string,
): string {
  return objectKey(kind === "Role" ? namespace : "", name);
}

/** Key of a subject; undefined = unknown kind. A ServiceAccount has the key of its user. */
function subjectKey({ kind, name, namespace }: Subject, own: string): string | undefined {
  if (kind === "User") return `user ${name}`;
  if (kind === "Group") return `group ${name}`;
  const home = namespace || own;
  if (kind !== "ServiceAccount" || home === "") return undefined;
  return `user system:serviceaccount:${home}:${name}`;
}

/** Maximum number of keys per rule: three lists of a thousand would make a billion. */
const maxKeys = 10_000;

function compile(grants: Grants, roles: ReadonlyMap<string, Role>): Compiled {
  const resources = new Map<string, Grant[]>();
  const paths = new Map<string, Grant>();
  const prefixes: PrefixGrant[] = [];
  const wide: WideGrant[] = [];
  const dangling: string[] = [];
  for (const bound of grants.bounds.values()) {
    const role = roles.get(bound.role);
    if (role === undefined) dangling.push(bound.danglingText);
    for (const rule of role?.rules ?? []) {
      const names = rule.resourceNames ?? [];
      const grant: Grant = { names: names.length === 0 ? undefined : new Set(names), bound };
      if (ruleSize({ ...rule, resourceNames: [] }) > maxKeys) {
        wide.push({ rule, grant });
        continue;
      }
      for (const key of ruleKeys(rule)) orMake(resources, key, () => []).push(grant);
      for (const url of rule.nonResourceURLs ?? []) {
        const prefix = pathPrefix(url);
        if (prefix !== undefined) prefixes.push({ verbs: new Set(rule.verbs), prefix, grant });
        else for (const verb of rule.verbs) orMake(paths, `${verb} ${url}`, () => grant);
      }
    }
  }
  return { resources, paths, prefixes, wide, dangling };
}

function ruleKeys({ verbs, apiGroups = [], resources = [] }: PolicyRule): readonly string[] {
  return verbs.flatMap((verb) =>
    apiGroups.flatMap((group) => resources.map((resource) => ruleKey(verb, group, resource))),
  );
}

/** Keys of all rules that would allow a resource request. */
function resourceKeys({ verb, group, resource, subresource }: RequestInfo): readonly string[] {
  const whole = subresource === "" ? resource : `${resource}/${subresource}`;
  const named = subresource === "" ? [whole, "*"] : [whole, "*", `*/${subresource}`];
  const groups = [group, "*"];
  return [verb, "*"].flatMap((each) =>
    groups.flatMap((ofGroup) => named.map((name) => ruleKey(each, ofGroup, name))),
  );
}

/** Index key of a rule; the separator cannot occur in the parts, so keys are unambiguous. */
function ruleKey(verb: string, group: string, resource: string): string {
  return `${verb}\n${group}\n${resource}`;
}

function findResource(
  { resources }: Compiled,
  keys: readonly string[],
  name: string,
): Grant | undefined {
  for (const key of keys) {
    const grants = resources.get(key);
    const found = grants?.find(({ names }) => names === undefined || names.has(name));
    if (found !== undefined) return found;
  }
  return undefined;
}

function findPath({ paths, prefixes }: Compiled, { path, verb }: RequestInfo): Grant | undefined {
  const exact = paths.get(`${verb} ${path}`) ?? paths.get(`* ${path}`);
  if (exact !== undefined) return exact;
  const found = prefixes.find(
    ({ verbs, prefix }) => path.startsWith(prefix) && (verbs.has(verb) || verbs.has("*")),
  );
  return found?.grant;
}

function findWide({ wide }: Compiled, request: RequestInfo): Grant | undefined {
  const allows = request.isResource ? allowsResource : allowsPath;
  return wide.find(({ rule }) => allows(rule, request))?.grant;
}

function orMake<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
