import type { FlowSchema } from "#api";
import type { RequestInfo, User } from "#request";

type Rule = NonNullable<FlowSchema["spec"]["rules"]>[number];
type Subject = NonNullable<Rule["subjects"]>[number];
type ResourceRule = NonNullable<Rule["resourceRules"]>[number];
type NonResourceRule = NonNullable<Rule["nonResourceRules"]>[number];

const serviceAccountPrefix = "system:serviceaccount:";

/** Matches requests, without subjects. */
export interface RequestRules {
  matches(request: RequestInfo): boolean;
}

/**
 * The compiled rules of a FlowSchema: names are sets, and subjects are matched separately from
 * requests, so that the result is reusable for all requests of a user.
 */
export class FlowSchemaMatcher {
  private readonly rules: readonly {
    readonly subjects: SubjectMatcher;
    readonly requests: RequestMatcher;
  }[];

  constructor({ rules = [] }: FlowSchema["spec"]) {
    this.rules = rules.map((rule) => ({
      subjects: new SubjectMatcher(rule.subjects ?? []),
      requests: new RequestMatcher(rule),
    }));
  }

  /** The rules whose subjects include the user; undefined if there are none. */
  rulesOf(user: User): RequestRules | undefined {
    const found = this.rules.filter(({ subjects }) => subjects.matches(user));
    if (found.length === 0) return undefined;
    if (found.length === 1) return found[0]!.requests;
    return { matches: (request) => found.some(({ requests }) => requests.matches(request)) };
  }
}

/** Matches any of a rule's subjects. */
class SubjectMatcher {
  private readonly users = new Set<string>();
  private readonly groups = new Set<string>();
  /** User name prefixes, for all service accounts of a namespace. */
  private readonly prefixes: string[] = [];
  private readonly isEveryUser: boolean;
  private readonly isEveryGroup: boolean;

  constructor(subjects: readonly Subject[]) {
    for (const { kind, user, group, serviceAccount } of subjects) {
      if (kind === "User" && user !== undefined) this.users.add(user.name);
      if (kind === "Group" && group !== undefined) this.groups.add(group.name);
      if (kind === "ServiceAccount" && serviceAccount !== undefined) {
        const prefix = `${serviceAccountPrefix}${serviceAccount.namespace}:`;
        if (serviceAccount.name === "*") this.prefixes.push(prefix);
        else this.users.add(prefix + serviceAccount.name);
      }
    }
    this.isEveryUser = this.users.has("*");
    this.isEveryGroup = this.groups.has("*");
  }

  matches({ name, groups }: User): boolean {
    if (this.isEveryUser || this.isEveryGroup || this.users.has(name)) return true;
    if (this.groups.size > 0 && groups.some((group) => this.groups.has(group))) return true;
    return this.prefixes.some((prefix) => name.startsWith(prefix));
  }
}

/** Matches any of a rule's resource rules or non-resource rules. */
class RequestMatcher implements RequestRules {
  private readonly resources: readonly ResourceMatcher[];
  private readonly paths: readonly PathMatcher[];

  constructor({ resourceRules = [], nonResourceRules = [] }: Rule) {
    this.resources = resourceRules.map((rule) => new ResourceMatcher(rule));
    this.paths = nonResourceRules.map((rule) => new PathMatcher(rule));
  }

  matches(request: RequestInfo): boolean {
    const rules: readonly RequestRules[] = request.isResource ? this.resources : this.paths;
    return rules.some((rule) => rule.matches(request));
  }
}

class ResourceMatcher implements RequestRules {
  private readonly verbs: Names;
  private readonly groups: Names;
  private readonly resources: Names;
  private readonly namespaces: Names;
  private readonly clusterScope: boolean;

  constructor({ verbs, apiGroups, resources, namespaces, clusterScope }: ResourceRule) {
    this.verbs = namesOf(verbs);
    this.groups = namesOf(apiGroups);
    this.resources = namesOf(resources);
    this.namespaces = namesOf(namespaces);
    this.clusterScope = clusterScope === true;
  }

  matches({ verb, group, resource, subresource, namespace }: RequestInfo): boolean {
    if (!includes(this.verbs, verb) || !includes(this.groups, group)) return false;
    if (this.resources !== "*") {
      const wanted = subresource === "" ? resource : `${resource}/${subresource}`;
      if (!this.resources.has(wanted)) return false;
    }
    return namespace === "" ? this.clusterScope : includes(this.namespaces, namespace);
  }
}

/** Matches nonResourceURLs: `PATH/*` matches the paths below, `PATH` itself and the paths below. */
class PathMatcher implements RequestRules {
  private readonly verbs: Names;
  private readonly paths: ReadonlySet<string>;
  private readonly prefixes: readonly string[];

  constructor({ verbs, nonResourceURLs }: NonResourceRule) {
    this.verbs = namesOf(verbs);
    const urls = nonResourceURLs ?? [];
    this.paths = new Set(urls);
    this.prefixes = urls.map((url) => {
      const prefix = url.endsWith("*") ? url.slice(0, -1) : url;
      return prefix.endsWith("/") ? prefix : `${prefix}/`;
    });
  }

  matches({ verb, path }: RequestInfo): boolean {
    if (!includes(this.verbs, verb)) return false;
    if (this.paths.has("*") || this.paths.has(path)) return true;
    return this.prefixes.some((prefix) => path.startsWith(prefix));
  }
}

type Names = ReadonlySet<string> | "*";

/** Validation ensures that a wildcard is the only element. */
function namesOf(names: readonly string[] | null | undefined): Names {
  if (names === null || names === undefined) return new Set();
  return names.length === 1 && names[0] === "*" ? "*" : new Set(names);
}

function includes(names: Names, name: string): boolean {
  return names === "*" || names.has(name);
}
