/**
 * Reviews against requests: whatever roles and bindings there are, what a review says is what a
 * request gets, and the rules of a review of rules are those that count. Random, with a seed that
 * the message of a failure names.
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
/** No binding names "stranger": whatever the roles allow, some questions are refused. */
const users = ["u1", "u2", "system:serviceaccount:one:bot", "stranger"];
const groups = ["g1", "g2"];

/** What requests are about: group, plural, whether it lies in namespaces, subresource. */
const resources = [
  { group: "", plural: "configmaps", local: true, part: "" },
  { group: "", plural: "pods", local: true, part: "" },
  { group: "", plural: "pods", local: true, part: "status" },
  { group: "", plural: "nodes", local: false, part: "" },
  { group: "apps", plural: "deployments", local: true, part: "scale" },
  { group: "apps", plural: "deployments", local: true, part: "" },
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

interface Asked {
  readonly user: string;
  readonly groups: readonly string[];
  readonly verb: string;
  readonly place:
    | { readonly path: string }
    | {
        readonly resource: (typeof resources)[number];
        readonly namespace: string;
        readonly name: string;
      };
}

interface Rule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

class World {
  constructor(
    private readonly random: Random,
    private readonly server: RunningServer,
  ) {}

  one<T>(all: readonly T[]): T {
    return all[Math.floor(this.random.next() * all.length)]!;
  }
  some<T>(all: readonly T[]): T[] {
    const chosen = all.filter(() => this.random.next() < 0.4);
    return chosen.length > 0 ? chosen : [this.one(all)];
  }
  chance(probability: number): boolean {
    return this.random.next() < probability;
  }

  rule(ofPaths: boolean): Rule {
    if (ofPaths) {
      const nonResourceURLs = this.some([...paths, "/livez/*", "/api*", "*"]);
      return { verbs: this.some(["get", "head", "*"]), nonResourceURLs };
    }
    const wholes = resources.map(({ plural, part }) => (part ? `${plural}/${part}` : plural));
    return {
      verbs: this.chance(0.1) ? ["*"] : this.some(verbs),
      apiGroups: this.some(["", "apps", "*"]),
      resources: this.some([...wholes, "*", "*/status", "*/scale"]),
      ...(this.chance(0.3) ? { resourceNames: this.some(names) } : {}),
    };
  }

  subjects(): object[] {
    const { some, one } = { some: this.some.bind(this), one: this.one.bind(this) };
    const people = some(users.slice(0, 2)).map((name) => ({ kind: "User", apiGroup, name }));
    const crowds = some(groups).map((name) => ({ kind: "Group", apiGroup, name }));
    const bot = { kind: "ServiceAccount", name: "bot", namespace: "one" };
    return [one([...people, bot]), ...(this.chance(0.3) ? [one(crowds)] : [])];
  }

  async build(): Promise<void> {
    for (const name of namespaces) await this.post("/api/v1/namespaces", { metadata: { name } });
    for (let n = 0; n < 8; n++) {
      const metadata = { name: `r${n}` };
      const rules = [this.rule(n >= 6), this.rule(n >= 6)];
      await this.post(`${rbac}/clusterroles`, { metadata, rules });
      for (const namespace of n < 6 ? namespaces : []) {
        const own = [this.rule(false)];
        await this.post(`${rbac}/namespaces/${namespace}/roles`, { metadata, rules: own });
      }
    }
    for (let n = 0; n < 40; n++) {
      const metadata = { name: `b${n}` };
      // Bound in a namespace, rules about paths count for nothing, though reviews list them.
      const isLocal = this.chance(0.7);
      const name = isLocal ? `r${Math.floor(this.random.next() * 6)}` : `r${n % 8}`;
      const kind = isLocal && this.chance(0.5) ? "Role" : "ClusterRole";
      const roleRef = { apiGroup, kind, name: this.chance(0.1) ? "missing" : name };
      const where = isLocal
        ? `namespaces/${this.one(namespaces)}/rolebindings`
        : "clusterrolebindings";
      await this.post(`${rbac}/${where}`, { metadata, roleRef, subjects: this.subjects() });
    }
  }

  /** Waits until the authorizer has seen all objects: it receives the server's own writes late. */
  async settle(): Promise<void> {
    const metadata = { name: "last" };
    const rules = [{ verbs: ["get"], apiGroups: [""], resources: ["secrets"] }];
    const subjects = [{ kind: "User", apiGroup, name: "last" }];
    const within = `${rbac}/namespaces/one`;
    const refer = (kind: string) => ({
      metadata,
      subjects,
      roleRef: { apiGroup, kind, name: "last" },
    });
    await this.post(`${within}/roles`, { metadata, rules });
    await this.post(`${within}/rolebindings`, refer("Role"));
    await this.post(`${rbac}/clusterroles`, { metadata, rules });
    await this.post(`${rbac}/clusterrolebindings`, refer("ClusterRole"));
    const last: Asked = { user: "last", groups: [], verb: "get", place: { path: "/" } };
    for (;;) {
      const { resourceRules } = await this.rules(last, "one");
      const known = resourceRules.filter((rule: Rule) => rule.resources?.includes("secrets"));
      if (known.length === 2) return;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  question(): Asked {
    const who = { user: this.one(users), groups: this.chance(0.4) ? [this.one(groups)] : [] };
    if (this.chance(0.2)) {
      return { ...who, verb: this.one(["get", "head"]), place: { path: this.one(paths) } };
    }
    const resource = this.one(resources);
    const isPart = resource.part !== "";
    const verb = isPart ? this.one(["get", "update", "patch"] as const) : this.one(verbs);
    const isMany = ["list", "watch", "create", "deletecollection"].includes(verb);
    const isEverywhere = ["list", "watch"].includes(verb) && this.chance(0.3);
    const namespace = resource.local && !isEverywhere ? this.one(namespaces) : "";
    return { ...who, verb, place: { resource, namespace, name: isMany ? "" : this.one(names) } };
  }

  async post(url: string, object: object, headers: Record<string, string> = {}): Promise<any> {
    const answer = await this.server.fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(object),
    });
    const body = await answer.json();
    assert.equal(answer.status, 201, JSON.stringify(body));
    return body;
  }

  /** The server puts everybody who is known into a group of that name. */
  async reviewed({ user, groups: own, verb, place }: Asked): Promise<any> {
    const attributes =
      "path" in place
        ? { nonResourceAttributes: { verb, path: place.path } }
        : { resourceAttributes: attributesOf(verb, place) };
    const all = [...own, ...impliedGroups(user, own)];
    const spec = { user, groups: all, ...attributes };
    return (await this.post(`${reviews}/subjectaccessreviews`, { spec })).status;
  }

  async selfReviewed(asked: Asked): Promise<any> {
    const { verb, place } = asked;
    const spec =
      "path" in place
        ? { nonResourceAttributes: { verb, path: place.path } }
        : { resourceAttributes: attributesOf(verb, place) };
    const headers = this.headers(asked);
    return (await this.post(`${reviews}/selfsubjectaccessreviews`, { spec }, headers)).status;
  }

  async rules(asked: Asked, namespace: string): Promise<any> {
    const headers = this.headers(asked);
    const body = { spec: { namespace } };
    return (await this.post(`${reviews}/selfsubjectrulesreviews`, body, headers)).status;
  }

  /** What a request really gets. Bodies are cut off and no objects are there: nothing changes. */
  async isAllowed(asked: Asked): Promise<boolean> {
    const { verb, place } = asked;
    const isPath = "path" in place;
    const method = isPath ? verb.toUpperCase() : methods[verb as Verb];
    const url = isPath ? place.path : urlOf(verb, place);
    const type = verb === "patch" ? "application/merge-patch+json" : "application/json";
    const isWrite = ["POST", "PUT", "PATCH"].includes(method);
    const enough = new AbortController();
    const { status } = await this.server.fetch(url, {
      method,
      headers: { ...this.headers(asked), ...(isWrite ? { "content-type": type } : {}) },
      ...(isWrite ? { body: "{" } : {}),
      signal: enough.signal,
    });
    enough.abort();
    return status !== 403;
  }

  private headers({ user, groups: own }: Asked): Record<string, string> {
    return {
      "impersonate-user": user,
      ...(own[0] === undefined ? {} : { "impersonate-group": own[0] }),
    };
  }
}

function impliedGroups(user: string, own: readonly string[]): readonly string[] {
  const [, namespace] = /^system:serviceaccount:(.*):/.exec(user) ?? [];
  const ofAccounts = ["system:serviceaccounts", `system:serviceaccounts:${namespace}`];
  const accounts = namespace !== undefined && own.length === 0 ? ofAccounts : [];
  return [...accounts, "system:authenticated"];
}

type Placed = Exclude<Asked["place"], { readonly path: string }>;

function attributesOf(verb: string, { resource, namespace, name }: Placed): object {
  const { group, plural, part } = resource;
  return { verb, group, resource: plural, subresource: part, namespace, name };
}

function urlOf(verb: string, { resource, namespace, name }: Placed): string {
  const { group, plural, part } = resource;
  const root = group === "" ? "/api/v1" : `/apis/${group}/v1`;
  const parts = [namespace && `namespaces/${namespace}`, plural, name, part].filter(Boolean);
  const query = verb === "watch" ? "?watch=true" : "";
  return `${root}/${parts.join("/")}${query}`;
}

/** Whether listed rules allow what was asked, as their documentation says they do. */
function listedAllows({ resourceRules, nonResourceRules }: any, { verb, place }: Asked): boolean {
  const holds = (list: readonly string[] = [], ...some: readonly string[]) =>
    some.some((each) => list.includes(each)) || list.includes("*");
  if ("path" in place) {
    return nonResourceRules.some(
      ({ verbs: allowed, nonResourceURLs }: Rule) =>
        holds(allowed, verb) &&
        nonResourceURLs!.some((url) =>
          url.endsWith("*") ? place.path.startsWith(url.slice(0, -1)) : url === place.path,
        ),
    );
  }
  const { group, plural, part } = place.resource;
  const wholes = part === "" ? [plural] : [`${plural}/${part}`, `*/${part}`];
  return resourceRules.some(
    (rule: Rule) =>
      holds(rule.verbs, verb) &&
      holds(rule.apiGroups, group) &&
      holds(rule.resources, ...wholes) &&
      (!rule.resourceNames?.length || rule.resourceNames.includes(place.name)),
  );
}

describe("access reviews and requests agree", () => {
  let server: RunningServer;
  before(async () => void (server = await startServer({ controllers: false })));
  after(() => server.close());

  it(`in all of ${rounds} random cases (SEED=${seed})`, async () => {
    const world = new World(seededRandom(Number(seed)), server);
    await world.build();
    await world.settle();
    const counts = { allowed: 0, refused: 0 };
    for (let round = 0; round < rounds; round++) {
      const asked = world.question();
      const told = `seed ${seed}, round ${round}: ${JSON.stringify(asked)}`;
      const allowed = await world.isAllowed(asked);
      const review = await world.reviewed(asked);
      assert.equal(review.allowed, allowed, `a review says ${JSON.stringify(review)}; ${told}`);
      const own = await world.selfReviewed(asked);
      assert.equal(own.allowed, allowed, `a review of oneself; ${told}`);
      const namespace = "path" in asked.place ? "one" : asked.place.namespace;
      if (namespace !== "") {
        const rules = await world.rules(asked, namespace);
        assert.equal(listedAllows(rules, asked), allowed, `a review of rules; ${told}`);
        assert.equal(rules.incomplete, false);
      }
      if (allowed) counts.allowed++;
      else counts.refused++;
    }
    assert.ok(Math.min(counts.allowed, counts.refused) > rounds / 40, JSON.stringify(counts));
  });
});
