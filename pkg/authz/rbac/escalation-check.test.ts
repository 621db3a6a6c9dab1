import assert from "node:assert/strict";
import { kubernetes } from "#meta";
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
