import assert from "node:assert/strict";
import { testAdmission } from "../../testing.ts";

describe("NamespaceAutoProvision", () => {
  const object = { metadata: { name: "m" } };

  it("creates the namespace of a new object, before NamespaceLifecycle looks for it", async () => {
    const test = await testAdmission(["NamespaceAutoProvision", "NamespaceLifecycle"]);
    assert.equal(await test.admit("create v1/configmaps/new", { object }), "accepted");
    assert.equal((await test.get("v1/namespaces//new")).metadata.name, "new");
  });

  it("creates none for a dry run", async () => {
    const test = await testAdmission(["NamespaceAutoProvision", "NamespaceLifecycle"]);
    const dry = { object, dryRun: true };
    assert.equal(
      await test.admit("create v1/configmaps/new", dry),
      '404 namespaces "new" not found',
    );
  });
});
