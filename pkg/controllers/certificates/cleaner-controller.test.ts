import assert from "node:assert/strict";
import { makeRequest } from "../../pki/testing.ts";
import { type TestRegistry, testRegistry } from "../../registry/testing.ts";
import { type ControllerTest, startController } from "../testing.ts";
import { runCleanerController } from "./cleaner-controller.ts";

const group = "certificates.k8s.io/v1/certificatesigningrequests";
const hourMs = 3_600_000;

describe("certificatesigningrequest-cleaner-controller", () => {
  let test: TestRegistry;
  let run: ControllerTest;
  let began: number;
  beforeEach(async () => {
    test = await testRegistry();
    const { request } = await makeRequest({ commonName: "u" });
    const spec = {
      request: Buffer.from(request).toString("base64"),
      signerName: "example.com/signer",
      usages: ["client auth"],
    };
    for (const name of ["denied", "waiting"]) await test.post(group, { metadata: { name }, spec });
    const conditions = [{ type: "Denied", status: "True", reason: "Test" }];
    await test.patch(`${group}//denied/approval`, { status: { conditions } });
    run = await startController(runCleanerController, { test, clock: test.clock });
    began = test.clock.now();
  });
  afterEach(() => run.stop());

  /** Advances the clock until only these are left; returns the hours since the start. */
  async function left(names: readonly string[]): Promise<number> {
    for (let steps = 0; (await test.names(group)).join() !== names.join(); steps++) {
      assert.ok(steps < 1000);
      await new Promise((resolve) => setTimeout(resolve, 1));
      test.clock.advance(hourMs / 10);
    }
    return (test.clock.now() - began) / hourMs;
  }

  it("deletes decided requests after an hour, and undecided ones after a day", async () => {
    const first = await left(["waiting"]);
    assert.ok(first >= 1 && first < 24, `${first}`);
    assert.ok((await left([])) >= 24);
  });

  it("reports a failed delete, and retries in the next round", async () => {
    run.failNext("delete", "certificatesigningrequests", 1);
    await left(["waiting"]);
    assert.equal(run.calls("delete", "certificatesigningrequests"), 2);
    assert.match(run.reports.join(), /denied.*injected/);
  });
});
