import assert from "node:assert/strict";
import { testAdmission } from "../../testing.ts";

describe("NamespaceLifecycle", () => {
  const object = { metadata: { name: "m" } };
  // The plugin asks the registry, which the test creates behind the plugin.
  const start = () => testAdmission("NamespaceLifecycle");

  it("refuses writes in a namespace that does not exist", async () => {
    const test = await start();
    assert.equal(await test.admit("create v1/configmaps/ns", { object }), "accepted");
    assert.equal(
      await test.admit("create v1/configmaps/gone", { object }),
      '404 namespaces "gone" not found',
    );
  });

  it("returns no promise for a cached namespace", async () => {
    const test = await start();
    await test.post("v1/configmaps/ns", object);
    assert.equal(test.phase("mutating", "create v1/configmaps/ns", { object }), undefined);
  });

  for (const name of ["default", "kube-system", "kube-public"]) {
    it(`refuses to delete ${name}`, async () => {
      const test = await start();
      assert.throws(
        () => test.phase("mutating", `delete v1/namespaces//${name}`, { old: object }),
        { message: `namespaces "${name}" is forbidden: this namespace may not be deleted` },
      );
    });
  }
});
