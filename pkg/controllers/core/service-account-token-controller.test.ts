import assert from "node:assert/strict";
import { refusal } from "../../registry/testing.ts";
import { type ControllerTest, startController } from "../testing.ts";
import { runServiceAccountTokenController } from "./service-account-token-controller.ts";

const type = "kubernetes.io/service-account-token";
const secrets = "v1/secrets/ns";

describe("serviceaccount-token-controller", () => {
  let run: ControllerTest;
  beforeEach(async () => {
    const options = { sign: (claims: object) => JSON.stringify(claims), authorities: "PEM" };
    run = await startController((context) => runServiceAccountTokenController(context, options));
  });
  afterEach(() => run.stop());

  async function post(account: string, more: Readonly<Record<string, string>> = {}) {
    const annotations = { "kubernetes.io/service-account.name": account, ...more };
    await run.test.post(secrets, { metadata: { name: "t", annotations }, type });
  }
  const dataOf = async () => (await run.test.get(`${secrets}/t`)).object.data;
  const text = (encoded: string) => Buffer.from(encoded, "base64").toString();
  const isGone = async () => (await refusal(run.test.get(`${secrets}/t`))).startsWith("404");

  it("fills a Secret with token, namespace and CA, and deletes it with its account", async () => {
    const { item } = await run.test.post("v1/serviceaccounts/ns", { metadata: { name: "robot" } });
    await post("robot");
    const data = await run.until(async () => (await dataOf())?.token && dataOf());
    assert.deepEqual([text(data["ca.crt"]), text(data.namespace)], ["PEM", "ns"]);
    const claims = JSON.parse(text(data.token)) as Record<string, string>;
    assert.equal(claims["sub"], "system:serviceaccount:ns:robot");
    const { uid } = item.object.metadata;
    assert.equal(claims["kubernetes.io/serviceaccount/service-account.uid"], uid);
    await run.test.remove("v1/serviceaccounts/ns/robot");
    await run.until(isGone);
  });

  it("keeps a namespace that the Secret has", async () => {
    await run.test.post("v1/serviceaccounts/ns", { metadata: { name: "robot" } });
    const annotations = { "kubernetes.io/service-account.name": "robot" };
    const data = { namespace: Buffer.from("mine").toString("base64") };
    await run.test.post(secrets, { metadata: { name: "t", annotations }, type, data });
    await run.until(async () => (await dataOf())?.token);
    assert.equal(text((await dataOf()).namespace), "mine");
  });

  it("deletes a Secret of a missing ServiceAccount, or of one with another UID", async () => {
    await post("nobody");
    await run.until(isGone);
    await run.test.post("v1/serviceaccounts/ns", { metadata: { name: "robot" } });
    await post("robot", { "kubernetes.io/service-account.uid": "of-the-former" });
    await run.until(isGone);
  });

  it("retries when the Secret cannot be updated", async () => {
    await run.test.post("v1/serviceaccounts/ns", { metadata: { name: "robot" } });
    run.failNext("update", "secrets", 2);
    await post("robot");
    await run.until(async () => (await dataOf())?.token);
    assert.ok(run.calls("update", "secrets") >= 3);
  });

  it("removes a deleted Secret from the account's list", async () => {
    const account = { metadata: { name: "robot" }, secrets: [{ name: "t" }, { name: "other" }] };
    await run.test.post("v1/serviceaccounts/ns", account);
    await post("robot");
    await run.until(async () => (await dataOf())?.token);
    await run.test.remove(`${secrets}/t`);
    const listed = async () => {
      const { object } = await run.test.get("v1/serviceaccounts/ns/robot");
      return object.secrets.map(({ name }: { name: string }) => name).join();
    };
    await run.until(async () => (await listed()) === "other");
  });
});
