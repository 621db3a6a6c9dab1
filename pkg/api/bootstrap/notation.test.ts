import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { domainOf, kubernetes } from "#meta";
import { accessDefaults } from "./access-defaults.ts";
import { bindingObject, roleObject } from "./notation.ts";

const facts = new URL("../../../../shared/facts/bootstrap/", import.meta.url);
const files: Readonly<Record<string, string>> = {
  ClusterRole: "clusterroles",
  Role: "roles",
  ClusterRoleBinding: "clusterrolebindings",
  RoleBinding: "rolebindings",
};

const context = { domain: kubernetes, gate: () => true };

describe("bootstrap roles", () => {
  it("parses the notation", () => {
    const rules = `
      get update | core | configmaps | mine;
      get | /healthz /version/;
    `;
    const { rules: read } = roleObject({ name: "r", rules }, context);
    assert.deepEqual(read, [
      {
        verbs: ["get", "update"],
        apiGroups: [""],
        resources: ["configmaps"],
        resourceNames: ["mine"],
      },
      { verbs: ["get"], nonResourceURLs: ["/healthz", "/version/"] },
    ]);
  });

  it("omit rules of disabled gates", () => {
    const gate = (name: string) => name === "On";
    const rules = "[Off] get | /a; [On] get | /b;";
    const { rules: read } = roleObject({ name: "r", rules }, { ...context, gate });
    assert.deepEqual(read, [{ verbs: ["get"], nonResourceURLs: ["/b"] }]);
    const names = accessDefaults({ ...context, gate }).map(({ object }) => object.metadata.name);
    assert.ok(!names.includes("system:cluster-trust-bundle-discovery"));
    assert.ok(names.includes("system:discovery"));
  });

  it("depend on the domain", () => {
    const domain = domainOf("example.org");
    const binding = { name: "b", role: "x.{api}", subjects: [] };
    const { roleRef } = bindingObject(binding, { ...context, domain });
    const apiGroup = "rbac.authorization.example.org";
    assert.deepEqual(roleRef, { apiGroup, kind: "ClusterRole", name: "x.example.org" });
  });

  for (const [kind, file] of Object.entries(files)) {
    it(`include each ${kind} of kube-apiserver`, function () {
      const reference = new URL(`${file}.json`, facts);
      if (!existsSync(reference)) return this.skip();
      const parsed = JSON.parse(readFileSync(reference, "utf8"));
      const own = accessDefaults(context)
        .filter((each) => each.kind.kind === kind)
        .map(({ object }) => object);
      const byName = (list: any[]) =>
        list
          .map((object) => [`${object.metadata.namespace}/${object.metadata.name}`, object])
          .sort(([a], [b]) => (a < b ? -1 : 1));
      assert.deepEqual(byName(own), byName(parsed.items ?? parsed));
    });
  }
});
