import { goQuote } from "#meta";
import type { PolicyRule, RequestInfo, User } from "#request";
import { allowsPath, allowsResource, pathPrefix, ruleSize } from "./policy-rules.ts";

/** A role as the index keeps it. */
interface Role {
  readonly rules: readonly PolicyRule[];
}

/** A binding of one role, as stored. */
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

/** A binding as it concerns one of its subjects. */
interface Bound {
  /** Key of the role, see `roleKey`. */
  readonly role: string;
  /** What a decision says: `RoleBinding "b/ns" of Role "r" to User "u"`. */
  readonly story: string;
  /** `role.rbac.authorization.k8s.io "r" not found`. */
  readonly danglingText: string;
}

/** A rule that one binding gives. */
interface Grant {
  /** Undefined = any. */
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

/** What one subject got in one scope, ready for look-ups. */
interface Compiled {
  /** By `ruleKey`, as the rules spell it. */
  readonly resources: ReadonlyMap<string, readonly Grant[]>;
  /** By verb and path. */
  readonly paths: ReadonlyMap<string, Grant>;
  /** Verbs, and the path without the star at the end. */
  readonly prefixes: readonly PrefixGrant[];
  /** Rules that come to so many keys that each is looked at instead. */
  readonly wide: readonly WideGrant[];
  readonly dangling: readonly string[];
}

/** The bindings of one subject in one scope; compiled when first asked after a change. */
class Grants {
  readonly bounds = new Map<string, Bound>();
  compiled: Compiled | undefined;
}

/** Namespace -> subject -> grants; the namespace of cluster bindings is "". */
type Scopes = Map<string, Map<string, Grants>>;

export type BindingKind = "ClusterRoleBinding" | "RoleBinding";
export type RoleKind = "ClusterRole" | "Role";

/**
 * Roles and bindings indexed by subject, so that a question touches only the bindings of who asks,
 * and of those only rules about the resource and the verb in question. Example: with a RoleBinding
 * "b" in "ns" of the Role "r" (get pods) to the user "u", `scopes.get("ns").get("user u")` holds
 * one bound, and its compiled form one grant under get, "", pods. A change of "r" drops just that
 * compiled form.
 */
export class RbacIndex {
  private readonly roles = new Map<string, Role>();
  private readonly scopes: Scopes = new Map();
  /** By binding: where it was entered. */
  private readonly entered = new Map<string, readonly (readonly [string, string])[]>();
  /** By role: whose compiled forms are made from it. */
  private readonly dependents = new Map<string, Set<Grants>>();

  /** `group` is the resolved API group of roles, for messages. */
  constructor(private readonly group: string) {}

  setRole(key: string, rules: readonly PolicyRule[] | null | undefined): void {
    this.roles.set(key, { rules: rules ?? [] });
    this.forgetCompiled(key);
  }

  deleteRole(key: string): void {
    this.roles.delete(key);
    this.forgetCompiled(key);
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
    this.entered.set(`${kind} ${key}`, places);
  }

  deleteBinding(kind: BindingKind, key: string): void {
    const places = this.entered.get(`${kind} ${key}`);
    if (places === undefined) return;
    this.entered.delete(`${kind} ${key}`);
    for (const [namespace, who] of places) this.leave(namespace, who, key);
  }

  /** All keys of a kind, to find what is gone after a new look at everything. */
  keys(kind: BindingKind | RoleKind): readonly string[] {
    if (kind === "ClusterRole" || kind === "Role") {
      const clusterWide = kind === "ClusterRole";
      return [...this.roles.keys()].filter((key) => key.startsWith("/") === clusterWide);
    }
    const prefix = `${kind} `;
    const all = [...this.entered.keys()].filter((key) => key.startsWith(prefix));
    return all.map((key) => key.slice(prefix.length));
  }

  /** The binding that allows a request, in words; else the roles that are bound but not there. */
  find(user: User, request: RequestInfo): { readonly story: string } | readonly string[] {
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

  /** All rules that apply to a user in a namespace, in the order of the bindings. */
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
      story:
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

  private leave(namespace: string, who: string, key: string): void {
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

  private forgetCompiled(role: string): void {
    for (const grants of this.dependents.get(role) ?? []) grants.compiled = undefined;
  }
}

function uses({ bounds }: Grants, role: string): boolean {
  for (const bound of bounds.values()) if (bound.role === role) return true;
  return false;
}

/** `namespace/name`; the namespace of cluster-wide objects is "". */
export function objectKey(namespace: string | undefined, name: string): string {
  return `${namespace ?? ""}/${name}`;
}

/** Where the role of a reference is kept; `namespace` is that of the binding. */
export function roleKey(
  { kind, name }: { readonly kind: string; readonly name: string },
  namespace: string,
): string {
  return objectKey(kind === "Role" ? namespace : "", name);
}

/** Undefined for unknown subject kinds. A service account is keyed by its user name. */
function subjectKey({ kind, name, namespace }: Subject, own: string): string | undefined {
  if (kind === "User") return `user ${name}`;
  if (kind === "Group") return `group ${name}`;
  const home = namespace || own;
  if (kind !== "ServiceAccount" || home === "") return undefined;
  return `user system:serviceaccount:${home}:${name}`;
}

/** Three lists of a thousand words each would make a billion keys. */
const mostKeys = 10_000;

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
      if (ruleSize({ ...rule, resourceNames: [] }) > mostKeys) {
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

/** Where the rules stand that would allow a request. */
function resourceKeys({ verb, group, resource, subresource }: RequestInfo): readonly string[] {
  const whole = subresource === "" ? resource : `${resource}/${subresource}`;
  const named = subresource === "" ? [whole, "*"] : [whole, "*", `*/${subresource}`];
  const groups = [group, "*"];
  return [verb, "*"].flatMap((each) =>
    groups.flatMap((ofGroup) => named.map((name) => ruleKey(each, ofGroup, name))),
  );
}

/** A separator that no part contains, so that no group can pass for part of a resource. */
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
