import assert from "node:assert/strict";
import { testAdmission } from "../../testing.ts";

describe("DenyServiceExternalIPs", () => {
  const service = (...externalIPs: readonly string[]) => ({
    metadata: { name: "s" },
    spec: { externalIPs },
  });

  it("refuses new external IPs and allows those that the service had", async () => {
    const test = await testAdmission("DenyServiceExternalIPs");
    const denied =
      '403 services "s" is forbidden: Use of external IPs is denied by admission control';
    const [one, both] = [service("1.2.3.4"), service("1.2.3.4", "1.2.3.5")];
    assert.equal(await test.admit("create v1/services/ns", { object: one }), denied);
    assert.equal(await test.admit("create v1/services/ns", { object: service() }), "accepted");
    const update = (object: object, old: object) =>
      test.admit("update v1/services/ns/s", { object, old });
    assert.equal(await update(one, both), "accepted");
    assert.equal(await update(both, one), denied);
  });
});
