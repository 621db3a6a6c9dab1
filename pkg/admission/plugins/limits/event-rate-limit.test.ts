import assert from "node:assert/strict";
import { testAdmission } from "../../testing.ts";

describe("EventRateLimit", () => {
  const start = () =>
    testAdmission("EventRateLimit", {
      configuration: {
        EventRateLimit: {
          apiVersion: "eventratelimit.admission.k8s.io/v1alpha1",
          kind: "Configuration",
          limits: [{ type: "Namespace", qps: 1, burst: 1 }],
        },
      },
    });
  const object = { metadata: { name: "e" } };
  const limited = "429 Too many requests: limit reached on type Namespace for key ns";

  it("refuses Events above the rate, until time has passed", async () => {
    const test = await start();
    assert.equal(await test.admit("create v1/events/ns", { object }), "accepted");
    assert.equal(await test.admit("create v1/events/ns", { object }), limited);
    assert.equal(await test.admit("create v1/events/other", { object }), "accepted");
    test.clock.advance(1000);
    assert.equal(await test.admit("create v1/events/ns", { object }), "accepted");
  });

  it("cannot start without configuration", async () => {
    await assert.rejects(testAdmission("EventRateLimit"), /needs its part of/);
  });
});
