/**
 * Compares access reviews with requests for random roles and bindings: SubjectAccessReview and
 * SelfSubjectAccessReview must return the decision that the request gets, and the rules of a
 * SelfSubjectRulesReview must imply it. The message of a failure contains the seed.
 */
import assert from "node:assert/strict";
import { type Random, seededRandom } from "#base";
import { type RunningServer, startServer } from "../../../cmd/keelson/index.ts";

const seed = process.env["SEED"] ?? String(Date.now() % 1_000_000);
const rounds = Number(process.env["ROUNDS"] ?? 200);

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const reviews = "/apis/authorization.k8s.io/v1";
const apiGroup = "rbac.authorization.k8s.io";
const namespaces = ["one", "two"];
/** No binding names "stranger", so that some requests are denied for all random roles. */
const users = ["u1", "u2", "system:serviceaccount:one:bot", "stranger"];
const groups = ["g1", "g2"];

/** Resources of the requests. */
const resources = [
  { group: "", plural: "configmaps", namespaced: true, subresource: "" },
  { group: "", plural: "pods", namespaced: true, subresource: "" },
  { group: "", plural: "pods", namespaced: true, subresource: "status" },
  { group: "", plural: "nodes", namespaced: false, subresource: "" },
  { group: "apps", plural: "deployments", namespaced: true, subresource: "scale" },
  { group: "apps", plural: "deployments", namespaced: true, subresource: "" },
] as const;
const methods = {
  get: "GET",
  list: "GET",
  watch: "GET",
  create: "POST",
  update: "PUT",
  patch: "PATCH",
  delete: "DELETE",
  deletecollection: "DELETE",
} as const;
type Verb = keyof typeof methods;
const verbs = Object.keys(methods) as Verb[];
const paths = [
  "/version",
  "/livez",
  "/livez/ping",
  "/metrics",
  "/apis",
  "/openapi/v3",
  "/nothing/x",
];
const names = ["a", "b"];

interface NonResourceTarget {
  readonly path: string;
}

interface ResourceTarget {
  readonly resource: (typeof resources)[number];
  readonly namespace: string;
  readonly name: string;
}

/** A user, a verb, and the path or object that it is for. */
interface AccessRequest {
  readonly user: string;
  readonly groups: readonly string[];
  readonly verb: string;
  readonly target: NonResourceTarget | ResourceTarget;
}

interface Rule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

/** Draws rules, subjects and requests. */
class RandomAccess {
  constructor(private readonly random: Random) {}

  /** At least one of the items. */
  sample<T>(items: readonly T[]): T[] {
    const chosen = items.filter(() => this.chance(0.4));
    return chosen.length > 0 ? chosen : [this.pick(items)];
  }
  pick<T>(items: readonly T[]): T {
    return this.random.pick(items);
  }
  chance(probability: number): boolean {
    return this.random.next() < probability;
  }

  nonResourceRule(): Rule {
    const nonResourceURLs = this.sample([...paths, "/livez/*", "/api*", "*"]);
    return { verbs: this.sample(["get", "head", "*"]), nonResourceURLs };
  }

  resourceRule(): Rule {
    const resourceTypes = resources.map(({ plural, subresource }) =>
      subresource === "" ? plural : `${plural}/${subresource}`,
    );
    return {
      verbs: this.chance(0.1) ? ["*"] : this.sample(verbs),
      apiGroups: this.sample(["", "apps", "*"]),
      resources: this.sample([...resourceTypes, "*", "*/status", "*/scale"]),
      ...(this.chance(0.3) ? { resourceNames: this.sample(names) } : {}),
    };
  }

  subjects(): object[] {
    const boundUsers = users.slice(0, 2).map((name) => ({ kind: "User", apiGroup, name }));
    const boundGroups = groups.map((name) => ({ kind: "Group", apiGroup, name }));
    const account = { kind: "ServiceAccount", name: "bot", namespace: "one" };
    const subject = this.pick([...boundUsers, account]);
    return this.chance(0.3) ? [subject, this.pick(boundGroups)] : [subject];
  }

  request(): AccessRequest {
    const user = this.pick(users);
    const userGroups = this.chance(0.4) ? [this.pick(groups)] : [];
    if (this.chance(0.2)) {
      const target = { path: this.pick(paths) };
      return { user, groups: userGroups, verb: this.pick(["get", "head"]), target };
    }
    const resource = this.pick(resources);
    const verb = this.pick<Verb>(resource.subresource === "" ? verbs : subresourceVerbs);
    const isCollection = ["list", "watch", "create", "deletecollection"].includes(verb);
    const allNamespaces = ["list", "watch"].includes(verb) && this.chance(0.3);
    const target = {
      resource,
      namespace: resource.namespaced && !allNamespaces ? this.pick(namespaces) : "",
      name: isCollection ? "" : this.pick(names),
    };
    return { user, groups: userGroups, verb, target };
  }
}

const subresourceVerbs: readonly Verb[] = ["get", "update", "patch"];

/** Creates roles and bindings on a server, and sends it requests and reviews. */
class AccessClient {
  constructor(private readonly server: RunningServer) {}

  async createRolesAndBindings(random: RandomAccess): Promise<void> {
    for (const name of namespaces) await this.post("/api/v1/namespaces", { metadata: { name } });
    for (let n = 0; n < 8; n++) {
      const metadata = { name: `r${n}` };
      const isNonResource = n >= 6;
      const rule = () => (isNonResource ? random.nonResourceRule() : random.resourceRule());
      await this.post(`${rbac}/clusterroles`, { metadata, rules: [rule(), rule()] });
      for (const namespace of isNonResource ? [] : namespaces) {
        await this.post(`${rbac}/namespaces/${namespace}/roles`, { metadata, rules: [rule()] });
      }
    }
    for (let n = 0; n < 40; n++) {
      const metadata = { name: `b${n}` };
      // RoleBindings never refer to r6 and r7: they do not grant nonResourceURLs, but reviews list them.
      const isNamespaced = random.chance(0.7);
      const name = isNamespaced ? random.pick(["r0", "r1", "r2", "r3", "r4", "r5"]) : `r${n % 8}`;
      const kind = isNamespaced && random.chance(0.5) ? "Role" : "ClusterRole";
      const roleRef = { apiGroup, kind, name: random.chance(0.1) ? "missing" : name };
      const collection = isNamespaced
        ? `namespaces/${random.pick(namespaces)}/rolebindings`
        : "clusterrolebindings";
      await this.post(`${rbac}/${collection}`, { metadata, roleRef, subjects: random.subjects() });
    }
  }

  /** Waits until the authorizer's informers have received all objects created before. */
  async waitForAuthorizer(): Promise<void> {
    const metadata = { name: "last" };
    const rules = [{ verbs: ["get"], apiGroups: [""], resources: ["secrets"] }];
    const subjects = [{ kind: "User", apiGroup, name: "last" }];
    const bindingTo = (kind: string) => ({
      metadata,
      subjects,
      roleRef: { apiGroup, kind, name: "last" },
    });
    await this.post(`${rbac}/namespaces/one/roles`, { metadata, rules });
    await this.post(`${rbac}/namespaces/one/rolebindings`, bindingTo("Role"));
    await this.post(`${rbac}/clusterroles`, { metadata, rules });
    await this.post(`${rbac}/clusterrolebindings`, bindingTo("ClusterRole"));
    for (;;) {
      const { resourceRules } = await this.rulesReview({ user: "last", groups: [] }, "one");
      const granted = resourceRules.filter((rule: Rule) => rule.resources?.includes("secrets"));
      if (granted.length === 2) return;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  /** The status of a SubjectAccessReview, which needs the groups that authentication adds. */
  async accessReview({ user, groups: named, verb, target }: AccessRequest): Promise<any> {
    const spec = {
      user,
      groups: [...named, ...impliedGroups(user, named)],
      ...attributesOf(verb, target),
    };
    return (await this.post(`${reviews}/subjectaccessreviews`, { spec })).status;
  }

  /** The status of a SelfSubjectAccessReview of the impersonated user. */
  async selfAccessReview(request: AccessRequest): Promise<any> {
    const spec = attributesOf(request.verb, request.target);
    const headers = impersonation(request);
    return (await this.post(`${reviews}/selfsubjectaccessreviews`, { spec }, headers)).status;
  }

  /** The status of a SelfSubjectRulesReview of the impersonated user. */
  async rulesReview(user: Pick<AccessRequest, "user" | "groups">, namespace: string): Promise<any> {
    const body = { spec: { namespace } };
    const headers = impersonation(user);
    return (await this.post(`${reviews}/selfsubjectrulesreviews`, body, headers)).status;
  }

  /** Whether the request itself is authorized. Bodies are malformed, so that nothing is written. */
  async isAllowed(request: AccessRequest): Promise<boolean> {
    const { verb, target } = request;
    const isPath = "path" in target;
    const method = isPath ? verb.toUpperCase() : methods[verb as Verb];
    const url = isPath ? target.path : urlOf(verb, target);
    const type = verb === "patch" ? "application/merge-patch+json" : "application/json";
    const isWrite = ["POST", "PUT", "PATCH"].includes(method);
    const controller = new AbortController();
    const { status } = await this.server.fetch(url, {
      method,
      headers: { ...impersonation(request), ...(isWrite ? { "content-type": type } : {}) },
      ...(isWrite ? { body: "{" } : {}),
      signal: controller.signal,
    });
    controller.abort();
    return status !== 403;
  }

  private async post(
    url: string,
    object: object,
    headers: Record<string, string> = {},
  ): Promise<any> {
    const response = await this.server.fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(object),
    });
    const body = await response.json();
    assert.equal(response.status, 201, JSON.stringify(body));
    return body;
  }
}

function impersonation({
  user,
  groups: [group],
}: Pick<AccessRequest, "user" | "groups">): Record<string, string> {
  return {
    "impersonate-user": user,
    ...(group === undefined ? {} : { "impersonate-group": group }),
  };
}

/** The groups that the server adds to those named in impersonation headers. */
function impliedGroups(user: string, named: readonly string[]): readonly string[] {
  const [, namespace] = /^system:serviceaccount:(.*):/.exec(user) ?? [];
  const accountGroups = ["system:serviceaccounts", `system:serviceaccounts:${namespace}`];
  const isAccount = namespace !== undefined && named.length === 0;
  return [...(isAccount ? accountGroups : []), "system:authenticated"];
}

/** The attributes of an access review. */
function attributesOf(verb: string, target: AccessRequest["target"]): object {
  if ("path" in target) return { nonResourceAttributes: { verb, path: target.path } };
  const { resource, namespace, name } = target;
  const { group, plural, subresource } = resource;
  return { resourceAttributes: { verb, group, resource: plural, subresource, namespace, name } };
}

function urlOf(verb: string, { resource, namespace, name }: ResourceTarget): string {
  const { group, plural, subresource } = resource;
  const root = group === "" ? "/api/v1" : `/apis/${group}/v1`;
  const parts = [namespace && `namespaces/${namespace}`, plural, name, subresource];
  const query = verb === "watch" ? "?watch=true" : "";
  return `${root}/${parts.filter(Boolean).join("/")}${query}`;
}

/** Whether the rules of a SelfSubjectRulesReview allow the request. */
function rulesAllow(
  { resourceRules, nonResourceRules }: any,
  { verb, target }: AccessRequest,
): boolean {
  const matches = (list: readonly string[] = [], ...accepted: readonly string[]) =>
    accepted.some((value) => list.includes(value)) || list.includes("*");
  if ("path" in target) {
    return nonResourceRules.some(
      (rule: Rule) =>
        matches(rule.verbs, verb) &&
        rule.nonResourceURLs!.some((url) =>
          url.endsWith("*") ? target.path.startsWith(url.slice(0, -1)) : url === target.path,
        ),
    );
  }
  const { group, plural, subresource } = target.resource;
  const accepted = subresource === "" ? [plural] : [`${plural}/${subresource}`, `*/${subresource}`];
  return resourceRules.some(
    (rule: Rule) =>
      matches(rule.verbs, verb) &&
      matches(rule.apiGroups, group) &&
      matches(rule.resources, ...accepted) &&
      (!rule.resourceNames?.length || rule.resourceNames.includes(target.name)),
  );
}

describe("access reviews and requests agree", () => {
  let server: RunningServer;
  before(async () => void (server = await startServer({ controllers: false })));
  after(() => server.close());

  it(`for ${rounds} random requests (SEED=${seed})`, async () => {
    const random = new RandomAccess(seededRandom(Number(seed)));
    const client = new AccessClient(server);
    await client.createRolesAndBindings(random);
    await client.waitForAuthorizer();
    const counts = { allowed: 0, denied: 0 };
    for (let round = 0; round < rounds; round++) {
      const request = random.request();
      const context = `seed ${seed}, round ${round}: ${JSON.stringify(request)}`;
      const allowed = await client.isAllowed(request);
      const review = await client.accessReview(request);
      const status = JSON.stringify(review);
      assert.equal(review.allowed, allowed, `SubjectAccessReview ${status}; ${context}`);
      const selfReview = await client.selfAccessReview(request);
      assert.equal(selfReview.allowed, allowed, `SelfSubjectAccessReview; ${context}`);
      const namespace = "path" in request.target ? "one" : request.target.namespace;
      if (namespace !== "") {
        const rules = await client.rulesReview(request, namespace);
        assert.equal(rulesAllow(rules, request), allowed, `SelfSubjectRulesReview; ${context}`);
        assert.equal(rules.incomplete, false);
      }
      counts[allowed ? "allowed" : "denied"]++;
    }
    assert.ok(Math.min(counts.allowed, counts.denied) > rounds / 40, JSON.stringify(counts));
  });
});
