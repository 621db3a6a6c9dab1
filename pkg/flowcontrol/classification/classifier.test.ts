import assert from "node:assert/strict";
import { flowControlDefaults } from "#api";
import { domainOf } from "#meta";
import { parseRequestInfo, parseTarget, type RequestInfo, type User } from "#request";
import { Classifier, flowDistinguisher, type FlowSchemaObject } from "./classifier.ts";

type Rules = NonNullable<FlowSchemaObject["spec"]["rules"]>;
type Subject = NonNullable<Rules[number]["subjects"]>[number];

const catchAll = schema("catch-all", { precedence: 10_000, rules: [] });

function schema(
  name: string,
  { precedence = 1000, rules }: { readonly precedence?: number; readonly rules: Rules },
): FlowSchemaObject {
  const priorityLevelConfiguration = { name: "level" };
  return {
    metadata: { name },
    spec: { priorityLevelConfiguration, matchingPrecedence: precedence, rules },
  };
}

function user(name: string, ...groups: readonly string[]): User {
  return { name, uid: "", groups, extra: new Map() };
}

/** `GET /api/v1/pods` and the like. */
function request(text: string): RequestInfo {
  const [method = "", url = ""] = text.split(" ");
  return parseRequestInfo(method, parseTarget(url)!);
}

const everywhere = {
  verbs: ["*"],
  apiGroups: ["*"],
  resources: ["*"],
  clusterScope: true,
  namespaces: ["*"],
};
const ada: Subject = { kind: "User", user: { name: "ada" } };

/** Whether a schema with one resource rule for ada matches her request. */
function matchesResource(rule: Partial<typeof everywhere>, text: string): boolean {
  const resourceRules = [{ ...everywhere, ...rule }];
  const classifier = new Classifier(
    [schema("s", { rules: [{ subjects: [ada], resourceRules }] })],
    catchAll,
  );
  return classifier.classify(user("ada"), request(text)).metadata.name === "s";
}

function matchesPath(nonResourceURLs: string[], text: string, verbs = ["get"]): boolean {
  const rules = [{ subjects: [ada], nonResourceRules: [{ verbs, nonResourceURLs }] }];
  const classifier = new Classifier([schema("s", { rules })], catchAll);
  return classifier.classify(user("ada"), request(text)).metadata.name === "s";
}

function matchesSubject(subject: Subject, who: User): boolean {
  const rules = [{ subjects: [subject], resourceRules: [everywhere] }];
  const classifier = new Classifier([schema("s", { rules })], catchAll);
  return classifier.classify(who, request("GET /api/v1/pods")).metadata.name === "s";
}

describe("classification", () => {
  it("selects the lowest matchingPrecedence, then the first name", () => {
    const rules = [{ subjects: [ada], resourceRules: [everywhere] }];
    const schemas = [
      schema("late", { precedence: 300, rules }),
      schema("b", { precedence: 200, rules }),
      schema("a", { precedence: 200, rules }),
      schema("first", { precedence: 100, rules: [] }),
    ];
    const found = new Classifier(schemas, catchAll).classify(
      user("ada"),
      request("GET /api/v1/pods"),
    );
    assert.equal(found.metadata.name, "a");
  });

  it("falls back to the catch-all schema", () => {
    const found = new Classifier([], catchAll).classify(user("x"), request("GET /version"));
    assert.equal(found, catchAll);
  });

  it("matches resource rules by verb, group, resource, and namespace or cluster scope", () => {
    const get = "GET /api/v1/namespaces/default/pods/x";
    assert.ok(matchesResource({ verbs: ["list", "get"] }, get));
    assert.ok(!matchesResource({ verbs: ["list"] }, get));
    assert.ok(matchesResource({ apiGroups: [""] }, get));
    assert.ok(!matchesResource({ apiGroups: ["apps"] }, get));
    assert.ok(matchesResource({ resources: ["pods"] }, get));
    assert.ok(!matchesResource({ resources: ["pods"] }, `${get}/status`));
    assert.ok(matchesResource({ resources: ["pods/status"] }, `${get}/status`));
    assert.ok(!matchesResource({ resources: ["pods/status"] }, get));
    assert.ok(matchesResource({ namespaces: ["default"], clusterScope: false }, get));
    assert.ok(!matchesResource({ namespaces: ["other"] }, get));
    assert.ok(!matchesResource({ namespaces: [] }, get));
    assert.ok(matchesResource({ namespaces: [] }, "GET /api/v1/pods"));
    assert.ok(!matchesResource({ clusterScope: false }, "GET /api/v1/pods"));
    assert.ok(!matchesResource({}, "GET /version"));
  });

  it("matches nonResourceURLs, the paths below them, and prefixes", () => {
    assert.ok(matchesPath(["*"], "GET /anything"));
    assert.ok(matchesPath(["/healthz"], "GET /healthz"));
    assert.ok(matchesPath(["/healthz"], "GET /healthz/ping"));
    assert.ok(!matchesPath(["/healthz"], "GET /healthzz"));
    assert.ok(matchesPath(["/apis/*"], "GET /apis/x/y"));
    assert.ok(!matchesPath(["/apis/*"], "GET /apis"));
    assert.ok(!matchesPath(["/healthz"], "POST /healthz"));
    assert.ok(!matchesPath(["*"], "GET /api/v1/pods"));
  });

  it("matches users, groups and service accounts, each also by wildcard", () => {
    const account = user("system:serviceaccount:ns:robot", "system:serviceaccounts");
    const every: Subject = { kind: "User", user: { name: "*" } };
    assert.ok(matchesSubject(ada, user("ada")));
    assert.ok(!matchesSubject(ada, user("bob", "ada")));
    assert.ok(matchesSubject(every, user("bob")));
    assert.ok(matchesSubject({ kind: "Group", group: { name: "devs" } }, user("bob", "a", "devs")));
    assert.ok(!matchesSubject({ kind: "Group", group: { name: "devs" } }, user("devs", "a")));
    assert.ok(matchesSubject({ kind: "Group", group: { name: "*" } }, user("bob")));
    const robot = (namespace: string, name: string): Subject => ({
      kind: "ServiceAccount",
      serviceAccount: { namespace, name },
    });
    assert.ok(matchesSubject(robot("ns", "robot"), account));
    assert.ok(!matchesSubject(robot("ns", "other"), account));
    assert.ok(matchesSubject(robot("ns", "*"), account));
    assert.ok(!matchesSubject(robot("n", "*"), account));
  });

  it("distinguishes users of the same name by their groups", () => {
    const { schemas } = flowControlDefaults(domainOf());
    const all = schemas.map(({ name, spec }) => ({ metadata: { name }, spec }));
    const classifier = new Classifier(all, catchAll);
    const nameFor = (...groups: readonly string[]) =>
      classifier.classify(user("ada", ...groups), request("GET /api/v1/pods")).metadata.name;
    assert.equal(nameFor("system:authenticated"), "global-default");
    assert.equal(nameFor("system:authenticated", "system:masters"), "exempt");
    assert.equal(nameFor("system:nodes", "system:authenticated"), "system-nodes");
    assert.equal(nameFor("system:authenticated"), "global-default");
  });

  it("distinguishes flows by user, by namespace, or not", () => {
    const pods = request("GET /api/v1/namespaces/default/pods");
    const base = schema("s", { rules: [] });
    const by = (type: string) => {
      const spec = { ...base.spec, distinguisherMethod: { type } };
      return flowDistinguisher({ ...base, spec } as FlowSchemaObject, user("ada"), pods);
    };
    assert.equal(by("ByUser"), "ada");
    assert.equal(by("ByNamespace"), "default");
    assert.equal(flowDistinguisher(base, user("ada"), pods), "");
  });
});
