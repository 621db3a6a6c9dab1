import assert from "node:assert/strict";
import { refusal } from "../../registry/testing.ts";
import { type ControllerTest, startController } from "../testing.ts";
import { runServiceAccountController } from "./service-account-controller.ts";

describe("serviceaccount-controller", () => {
  let run: ControllerTest;
  beforeEach(async () => (run = await startController(runServiceAccountController)));
  afterEach(() => run.stop());

  const uidOf = async (namespace: string): Promise<string | undefined> => {
    const names = await run.test.names(`v1/serviceaccounts/${namespace}`);
    if (!names.includes("default")) return undefined;
    return (await run.test.get(`v1/serviceaccounts/${namespace}/default`)).object.metadata.uid;
  };

  it("creates the ServiceAccount `default` in each namespace, and recreates it when deleted", async () => {
    const first = await run.until(() => uidOf("ns"));
    await run.test.post("v1/namespaces", { metadata: { name: "later" } });
    await run.until(() => uidOf("later"));
    await run.test.remove("v1/serviceaccounts/ns/default");
    const second = await run.until(() => uidOf("ns"));
    assert.notEqual(first, second);
  });

  it("retries a failed create", async () => {
    await run.until(() => uidOf("ns"));
    run.failNext("create", "serviceaccounts", 2);
    await run.test.post("v1/namespaces", { metadata: { name: "next" } });
    await run.until(() => uidOf("next"));
    assert.ok(run.calls("create", "serviceaccounts") >= 4);
  });

  it("creates none in a terminating namespace", async () => {
    await run.until(() => uidOf("ns"));
    const finalizers = ["example.com/hold"];
    await run.test.post("v1/namespaces", { metadata: { name: "going", finalizers } });
    await run.until(() => uidOf("going"));
    await run.test.remove("v1/namespaces//going");
    await run.test.remove("v1/serviceaccounts/going/default");
    await run.test.post("v1/namespaces", { metadata: { name: "after" } });
    await run.until(() => uidOf("after"));
    assert.match(await refusal(run.test.get("v1/serviceaccounts/going/default")), /^404/);
  });
});
