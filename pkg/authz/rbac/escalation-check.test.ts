import assert from "node:assert/strict";
import { kubernetes } from "#meta";
import type { RequestInfo } from "#request";
import { rbacEscalationCheck } from "./escalation-check.ts";

describe("the RBAC privilege-escalation check of bindings", () => {
  const check = rbacEscalationCheck({
    rbac: { rulesOfRole: () => undefined } as any,
    authorizer: { authorize: () => ({ verdict: "noOpinion", reason: "" }) } as any,
    domain: kubernetes,
  });
  const bind = async (kind: string, name: string) =>
    check({
      operation: "create",
      object: { metadata: { name: "b" }, roleRef: { kind, name } },
      request: {
        namespace: "",
        name: "",
        resource: {
          group: "rbac.authorization.k8s.io",
          version: "v1",
          plural: "clusterrolebindings",
        },
        user: { name: "bob", uid: "", groups: [], extra: new Map() },
      },
    } as any);

  it("rejects roles that cannot be looked up, before validation", async () => {
    await assert.rejects(bind("Foo", "x"), /unsupported role reference kind: "Foo"/);
    await assert.rejects(bind("Role", "x"), /Namespace parameter required/);
    await assert.rejects(bind("ClusterRole", ""), /Name parameter required/);
    await assert.rejects(bind("ClusterRole", "none"), /clusterrolebindings.* "none" not found/);
  });
});

describe("the RBAC privilege-escalation check of roles", () => {
  const pods = { verbs: ["get"], apiGroups: [""], resources: ["pods"] };
  const asked: RequestInfo[] = [];
  const check = rbacEscalationCheck({
    rbac: { rules: () => ({ rules: [pods], incomplete: false, error: "" }) } as any,
    authorizer: {
      authorize: ({ request }) => {
        asked.push(request);
        return { verdict: "no-opinion", reason: "" };
      },
    },
    domain: kubernetes,
  });
  const create = async (role: object) =>
    check({
      operation: "create",
      object: { metadata: { name: "r" }, ...role },
      request: {
        namespace: "",
        name: "",
        resource: { group: "rbac.authorization.k8s.io", version: "v1", plural: "clusterroles" },
        user: { name: "bob", uid: "", groups: [], extra: new Map() },
      },
    } as any);

  it("rejects rules that the user does not hold, before an aggregationRule", async () => {
    const aggregationRule = { clusterRoleSelectors: [{}] };
    const more = { ...pods, verbs: ["get", "delete"] };
    const missing = /attempting to grant RBAC permissions not currently held:\n.*"delete"/;
    await assert.rejects(create({ rules: [more], aggregationRule }), missing);
    const aggregates = /must have cluster-admin privileges to use the aggregationRule/;
    await assert.rejects(create({ rules: [pods], aggregationRule }), aggregates);
    assert.deepEqual(await create({ rules: [pods] }), []);
  });

  it("asks for the verb escalate in any version", () => {
    assert.ok(asked.length > 0);
    for (const { verb, version } of asked) assert.deepEqual([verb, version], ["escalate", "*"]);
  });
});
