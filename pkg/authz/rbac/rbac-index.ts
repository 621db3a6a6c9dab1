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
interface SubjectBinding {
  /** Key of the role, see `roleKey`. */
  readonly role: string;
  /** Reason of a decision: `RoleBinding "b/ns" of Role "r" to User "u"`. */
  readonly reason: string;
  /** Error if the role is missing: `role.rbac.authorization.k8s.io "r" not found`. */
  readonly danglingText: string;
}

/** What a rule of a binding's role grants. */
interface Grant {
  /** resourceNames; undefined = all. */
  readonly names: ReadonlySet<string> | undefined;
  readonly binding: SubjectBinding;
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

/** Rules of one subject in one scope, indexed for lookup; see `Grants`. */
interface Compiled {
  /** Grants by `ruleKey`. */
  readonly resources: ReadonlyMap<string, readonly Grant[]>;
  /** Grants by verb and exact path. */
  readonly paths: ReadonlyMap<string, Grant>;
  /** Grants of path patterns, without the trailing `*`. */
  readonly prefixes: readonly PrefixGrant[];
  /** Rules with more than `maxKeys` keys, which are checked one by one. */
  readonly wide: readonly WideGrant[];
  /** Errors of bindings whose role is missing. */
  readonly dangling: readonly string[];
}

/** Bindings of one subject in one scope; compiled lazily after a change. */
class Grants {
  readonly bindings = new Map<string, SubjectBinding>();
  compiled: Compiled | undefined;
}

/** Namespace -> subject -> grants; the namespace of cluster bindings is "". */
type Scopes = Map<string, Map<string, Grants>>;

export type BindingKind = "ClusterRoleBinding" | "RoleBinding";
export type RoleKind = "ClusterRole" | "Role";

/**
 * Index of roles and bindings by subject, so that a decision looks up only the user's bindings, and of those
 * only rules with the request's verb and resource. Example: for RoleBinding "b" in "ns" of Role "r" (get
 * pods) to user "u", `scopes.get("ns").get("user u")` has one binding, whose compiled form has one grant
 * under get, "", pods. A change of "r" invalidates only that compiled form.
 */
export class RbacIndex {
  private readonly roles = new Map<string, Role>();
  private readonly scopes: Scopes = new Map();
  /** Namespace and subject key of each subject of a binding, by kind and key of the binding. */
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
    const entries: (readonly [string, string])[] = [];
    for (const subject of binding.subjects ?? []) {
      const ofSubject = subjectKey(subject, namespace);
      if (ofSubject === undefined) continue;
      const grants = this.grantsOf(namespace, ofSubject);
      if (grants.bindings.has(key)) continue;
      const subjectBinding = this.bindingOf(kind, binding, subject);
      grants.bindings.set(key, subjectBinding);
      grants.compiled = undefined;
      this.dependentsOf(subjectBinding.role).add(grants);
      entries.push([namespace, ofSubject]);
    }
    this.entries.set(`${kind} ${key}`, entries);
  }

  deleteBinding(kind: BindingKind, key: string): void {
    const entries = this.entries.get(`${kind} ${key}`);
    if (entries === undefined) return;
    this.entries.delete(`${kind} ${key}`);
    for (const [namespace, subject] of entries) this.removeEntry(namespace, subject, key);
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

  /** The binding that allows a request; otherwise the errors of bindings whose role is missing. */
  find(user: User, request: RequestInfo): { readonly reason: string } | readonly string[] {
    const dangling: string[] = [];
    const keys = request.isResource ? resourceKeys(request) : [];
    for (const compiled of this.compiledOf(user, request.isResource ? request.namespace : "")) {
      const grant =
        (request.isResource
          ? findResource(compiled, keys, request.name)
          : findPath(compiled, request)) ?? findWide(compiled, request);
      if (grant !== undefined) return grant.binding;
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
      for (const [key, { role, danglingText }] of grants.bindings) {
        // A binding that matches the user through several subjects counts once.
        const roleAndBinding = `${role} ${key}`;
        if (seen.has(roleAndBinding)) continue;
        seen.add(roleAndBinding);
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

  private bindingOf(kind: BindingKind, binding: Binding, subject: Subject): SubjectBinding {
    const { name, namespace = "" } = binding.metadata;
    const { roleRef } = binding;
    const isLocal = kind === "RoleBinding";
    const bindingName = isLocal ? `${name}/${namespace}` : name;
    const account = `${subject.name}/${subject.namespace || namespace}`;
    const subjectName = subject.kind === "ServiceAccount" ? account : subject.name;
    return {
      role: roleKey(roleRef, namespace),
      reason:
        `${kind} ${goQuote(bindingName)} of ${roleRef.kind} ${goQuote(roleRef.name)} ` +
        `to ${subject.kind} ${goQuote(subjectName)}`,
      danglingText: `${roleRef.kind.toLowerCase()}.${this.group} ${goQuote(roleRef.name)} not found`,
    };
  }

  private grantsOf(namespace: string, subject: string): Grants {
    const bySubject = getOrInsert(this.scopes, namespace, () => new Map<string, Grants>());
    return getOrInsert(bySubject, subject, () => new Grants());
  }

  private dependentsOf(role: string): Set<Grants> {
    return getOrInsert(this.dependents, role, () => new Set<Grants>());
  }

  private removeEntry(namespace: string, subject: string, key: string): void {
    const bySubject = this.scopes.get(namespace);
    const grants = bySubject?.get(subject);
    const binding = grants?.bindings.get(key);
    if (bySubject === undefined || grants === undefined || binding === undefined) return;
    grants.bindings.delete(key);
    grants.compiled = undefined;
    const dependents = this.dependentsOf(binding.role);
    if (!uses(grants, binding.role)) dependents.delete(grants);
    if (dependents.size === 0) this.dependents.delete(binding.role);
    if (grants.bindings.size === 0) bySubject.delete(subject);
    if (bySubject.size === 0) this.scopes.delete(namespace);
  }

  private invalidate(role: string): void {
    for (const grants of this.dependents.get(role) ?? []) grants.compiled = undefined;
  }
}

function uses({ bindings }: Grants, role: string): boolean {
  for (const binding of bindings.values()) if (binding.role === role) return true;
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

/**
 * Key of a subject of a binding in namespace `ofBinding`. A ServiceAccount has the key of its user.
 * Undefined = unknown kind, or a ServiceAccount without a namespace.
 */
function subjectKey({ kind, name, namespace }: Subject, ofBinding: string): string | undefined {
  if (kind === "User") return `user ${name}`;
  if (kind === "Group") return `group ${name}`;
  const ofAccount = namespace || ofBinding;
  if (kind !== "ServiceAccount" || ofAccount === "") return undefined;
  return `user system:serviceaccount:${ofAccount}:${name}`;
}

/** Maximum number of keys per rule: three lists of a thousand would make a billion. */
const maxKeys = 10_000;

function compile(grants: Grants, roles: ReadonlyMap<string, Role>): Compiled {
  const resources = new Map<string, Grant[]>();
  const paths = new Map<string, Grant>();
  const prefixes: PrefixGrant[] = [];
  const wide: WideGrant[] = [];
  const dangling: string[] = [];
  for (const binding of grants.bindings.values()) {
    const role = roles.get(binding.role);
    if (role === undefined) dangling.push(binding.danglingText);
    for (const rule of role?.rules ?? []) {
      const names = rule.resourceNames ?? [];
      const grant: Grant = { names: names.length === 0 ? undefined : new Set(names), binding };
      if (ruleSize({ ...rule, resourceNames: [] }) > maxKeys) {
        wide.push({ rule, grant });
        continue;
      }
      for (const key of ruleKeys(rule)) getOrInsert(resources, key, () => []).push(grant);
      for (const url of rule.nonResourceURLs ?? []) {
        const prefix = pathPrefix(url);
        if (prefix !== undefined) prefixes.push({ verbs: new Set(rule.verbs), prefix, grant });
        else for (const verb of rule.verbs) getOrInsert(paths, `${verb} ${url}`, () => grant);
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

function getOrInsert<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
