import assert from "node:assert/strict";
import type { RequestInfo, User } from "#request";
import { RbacAuthorizer } from "./rbac-authorizer.ts";

/** `get pods in ns`, `update apps/deployments/scale named x`, `get path /healthz`. */
function asked(text: string): RequestInfo {
  const [, verb = "", what = "", , namespace = "", , name = ""] =
    /^(\S+) (?:path )?(\S+)( in (\S+))?( named (\S+))?$/.exec(text) ?? [];
  const isResource = !text.includes(" path ");
  const parts = what.split("/");
  const [group = "", resource = "", subresource = ""] = parts.length === 1 ? ["", ...parts] : parts;
  const common = { verb, apiPrefix: "", version: "v1", namespace, name, rest: [] };
  return isResource
    ? { ...common, isResource, path: "", group, resource, subresource }
    : { ...common, isResource, path: what, group: "", resource: "", subresource: "" };
}

function user(name: string, ...groups: string[]): User {
  return { name, uid: "", groups, extra: new Map() };
}

const rules = [
  { verbs: ["get"], apiGroups: [""], resources: ["pods"] },
  { verbs: ["update"], apiGroups: ["apps"], resources: ["*/scale"] },
  { verbs: ["*"], apiGroups: ["batch"], resources: ["jobs"] },
  { verbs: ["delete"], apiGroups: ["policy"], resources: ["*"] },
  { verbs: ["get"], apiGroups: [""], resources: ["secrets"], resourceNames: ["mine"] },
];

function bound(): RbacAuthorizer {
  const rbac = new RbacAuthorizer("rbac.example.org");
  rbac.set("Role", { metadata: { name: "r", namespace: "ns" }, rules });
  rbac.set("RoleBinding", binding("b", "ns", { kind: "Role", name: "r" }, "User u"));
  const paths = [{ verbs: ["get"], nonResourceURLs: ["/a", "/b/*"] }];
  rbac.set("ClusterRole", { metadata: { name: "paths" }, rules: paths });
  const role = { kind: "ClusterRole", name: "paths" };
  rbac.set("ClusterRoleBinding", binding("p", undefined, role, "Group g"));
  return rbac;
}

function binding(
  name: string,
  namespace: string | undefined,
  roleRef: { kind: string; name: string },
  ...subjects: string[]
): any {
  return {
    metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
    roleRef,
    subjects: subjects.map((text) => {
      const [kind, subject = "", home] = text.split(" ");
      return { kind, name: subject, ...(home === undefined ? {} : { namespace: home }) };
    }),
  };
}

describe("RbacAuthorizer", () => {
  const cases: readonly (readonly [string, boolean])[] = [
    ["get pods in ns", true],
    ["list pods in ns", false],
    ["get pods in other", false],
    ["get pods", false],
    ["get /pods/log in ns", false],
    ["update apps/deployments/scale in ns", true],
    ["update apps/gizmos/scale in ns", true],
    ["update apps/deployments in ns", false],
    ["update apps/deployments/status in ns", false],
    ["bewitch batch/jobs in ns", true],
    ["get batch/jobs/status in ns", false],
    ["delete policy/x/status in ns", true],
    ["get secrets in ns named mine", true],
    ["get secrets in ns named yours", false],
    ["get secrets in ns", false],
    ["get path /a", false],
  ];
  for (const [text, expected] of cases) {
    it(`${expected ? "allows" : "does not allow"} ${text}`, async () => {
      const { verdict } = await bound().authorize({ user: user("u"), request: asked(text) });
      assert.equal(verdict === "allow", expected);
    });
  }

  it("matches paths exactly or by the prefix before *", async () => {
    const may = async (path: string) => {
      const request = asked(`get path ${path}`);
      return (await bound().authorize({ user: user("x", "g"), request })).verdict === "allow";
    };
    assert.deepEqual(await Promise.all(["/a", "/a/b", "/b", "/b/", "/b/c/d"].map(may)), [
      true,
      false,
      false,
      true,
      true,
    ]);
  });

  it("returns the binding in the reason", async () => {
    const decision = await bound().authorize({
      user: user("u"),
      request: asked("get pods in ns"),
    });
    assert.equal(decision.reason, 'RBAC: allowed by RoleBinding "b/ns" of Role "r" to User "u"');
  });

  it("takes a service account without a namespace from the binding's own", async () => {
    const rbac = bound();
    const reference = { kind: "Role", name: "r" };
    rbac.set("RoleBinding", binding("sa", "ns", reference, "ServiceAccount bot"));
    const request = asked("get pods in ns");
    const bot = user("system:serviceaccount:ns:bot");
    const { reason } = await rbac.authorize({ user: bot, request });
    assert.match(reason, /to ServiceAccount "bot\/ns"$/);
  });

  it("applies changes of roles and bindings", async () => {
    const rbac = bound();
    const request = asked("get pods in ns");
    const may = async (name: string) =>
      (await rbac.authorize({ user: user(name), request })).verdict === "allow";
    assert.equal(await may("u"), true);
    rbac.set("Role", { metadata: { name: "r", namespace: "ns" }, rules: [] });
    assert.equal(await may("u"), false);
    rbac.set("Role", { metadata: { name: "r", namespace: "ns" }, rules });
    assert.equal(await may("u"), true);
    rbac.set("RoleBinding", binding("b", "ns", { kind: "Role", name: "r" }, "User v"));
    assert.deepEqual([await may("u"), await may("v")], [false, true]);
    rbac.delete("RoleBinding", "ns/b");
    assert.equal(await may("v"), false);
  });

  it("returns missing roles as the reason of a denial", async () => {
    const rbac = bound();
    rbac.delete("Role", "ns/r");
    const role = { kind: "ClusterRole", name: "gone" };
    rbac.set("ClusterRoleBinding", binding("d", undefined, role, "User u"));
    const decision = await rbac.authorize({ user: user("u"), request: asked("get pods in ns") });
    assert.deepEqual(decision, {
      verdict: "no-opinion",
      reason:
        'RBAC: [clusterrole.rbac.example.org "gone" not found, ' +
        'role.rbac.example.org "r" not found]',
    });
  });

  it("does not treat a group as part of a resource", async () => {
    const rbac = new RbacAuthorizer("rbac.example.org");
    const odd = [{ verbs: ["get"], apiGroups: ["apps/deployments"], resources: ["scale"] }];
    rbac.set("ClusterRole", { metadata: { name: "odd" }, rules: odd });
    const role = { kind: "ClusterRole", name: "odd" };
    rbac.set("ClusterRoleBinding", binding("o", undefined, role, "User u"));
    const request = asked("get apps/deployments/scale in ns");
    assert.equal((await rbac.authorize({ user: user("u"), request })).verdict, "no-opinion");
  });

  it("lists each rule that allows something, once per binding", () => {
    const known = bound().rules(user("u", "g"), "ns");
    assert.deepEqual(known.rules, [{ verbs: ["get"], nonResourceURLs: ["/a", "/b/*"] }, ...rules]);
    assert.deepEqual(bound().rules(user("u"), "other").rules, []);
  });

  it("applies a rule of a billion combinations", async () => {
    const rbac = new RbacAuthorizer("rbac.example.org");
    const words = (letter: string) => Array.from({ length: 1000 }, (_, n) => `${letter}${n}`);
    const wide = { verbs: words("v"), apiGroups: words("g"), resources: words("r") };
    const paths = { verbs: words("v"), nonResourceURLs: [...words("/p"), "/q/**"] };
    rbac.set("ClusterRole", { metadata: { name: "wide" }, rules: [wide, paths] });
    const role = { kind: "ClusterRole", name: "wide" };
    rbac.set("ClusterRoleBinding", binding("wide", undefined, role, "User u"));
    for (const [text, expected] of [
      ["v7 g999/r0", "allow"],
      ["v7 g1000/r0", "no-opinion"],
      ["v7 path /p3", "allow"],
      ["v7 path /q/x", "allow"],
      ["v1000 path /p3", "no-opinion"],
    ] as const) {
      const { verdict } = await rbac.authorize({ user: user("u"), request: asked(text) });
      assert.equal(verdict, expected, text);
    }
  });
});
