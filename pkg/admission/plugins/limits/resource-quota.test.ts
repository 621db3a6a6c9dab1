import assert from "node:assert/strict";
import { testAdmission } from "../../testing.ts";

describe("ResourceQuota", () => {
  const start = async () => {
    const test = await testAdmission("ResourceQuota");
    const hard = { configmaps: "1" };
    await test.post("v1/resourcequotas/ns", { metadata: { name: "q" }, spec: { hard } });
    await test.putStatus("v1/resourcequotas/ns/q", { hard, used: { configmaps: "0" } });
    return test;
  };
  const object = { metadata: { name: "m" } };
  const used = async (test: Awaited<ReturnType<typeof start>>) =>
    (await test.get("v1/resourcequotas/ns/q")).status.used.configmaps;

  it("charges the quota and refuses what exceeds it", async () => {
    const test = await start();
    assert.equal(await test.admit("create v1/configmaps/ns", { object }), "accepted");
    assert.equal(await used(test), "1");
    assert.equal(
      await test.admit("create v1/configmaps/ns", { object }),
      '403 configmaps "m" is forbidden: exceeded quota: q, requested: configmaps=1, ' +
        "used: configmaps=1, limited: configmaps=1",
    );
  });

  it("charges nothing for a dry run", async () => {
    const test = await start();
    const dry = { object, dryRun: true };
    assert.equal(await test.admit("create v1/configmaps/ns", dry), "accepted");
    assert.equal(await used(test), "0");
  });

  it("has nothing to wait for in a namespace without quota", async () => {
    const test = await testAdmission("ResourceQuota");
    await test.post("v1/configmaps/ns", { metadata: { name: "warm" } });
    assert.equal(test.phase("validating", "create v1/configmaps/ns", { object }), undefined);
  });
});
