import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { testRegistry } from "../../registry/testing.ts";
import { type ControllerTest, startController } from "../testing.ts";
import { runBootstrapSigner } from "./bootstrap-signer.ts";
import { runTokenCleaner } from "./token-cleaner.ts";

const secrets = "v1/secrets/kube-system";
const infos = "v1/configmaps/kube-public";
const kubeconfig = "apiVersion: v1\nkind: Config\n";
const encoded = (text: string) => Buffer.from(text).toString("base64");

async function startWith(controller: typeof runBootstrapSigner): Promise<ControllerTest> {
  const test = await testRegistry({ namespaces: ["kube-system", "kube-public"] });
  await test.post(infos, { metadata: { name: "cluster-info" }, data: { kubeconfig } });
  return startController(controller, { test });
}

function postToken(run: ControllerTest, id: string, more: Readonly<Record<string, string>>) {
  const values = { "token-id": id, "token-secret": "0123456789abcdef", ...more };
  const data = Object.fromEntries(
    Object.entries(values).map(([key, text]) => [key, encoded(text)]),
  );
  const type = "bootstrap.kubernetes.io/token";
  return run.test.post(secrets, { metadata: { name: `bootstrap-token-${id}` }, type, data });
}

describe("bootstrap-signer-controller", () => {
  let run: ControllerTest;
  beforeEach(async () => (run = await startWith(runBootstrapSigner)));
  afterEach(() => run.stop());

  const signing = { "usage-bootstrap-signing": "true" };
  const entries = async () => {
    const { data } = (await run.test.get(`${infos}/cluster-info`)).object;
    return data as Readonly<Record<string, string>>;
  };
  const signersAre = (...ids: readonly string[]) =>
    run.until(async () => {
      const keys = Object.keys(await entries()).filter((key) => key.startsWith("jws-"));
      return keys.sort().join() === ids.map((id) => `jws-kubeconfig-${id}`).join();
    });

  it("signs cluster-info with every signing token, as detached JWS", async () => {
    await postToken(run, "silent", {});
    await postToken(run, "past00", { ...signing, expiration: "2020-01-01T00:00:00Z" });
    await postToken(run, "abcdef", signing);
    await signersAre("abcdef");
    const [head, payload, signature] = (await entries())["jws-kubeconfig-abcdef"]!.split(".");
    assert.equal(payload, "");
    const signed = `${head}.${Buffer.from(kubeconfig).toString("base64url")}`;
    const hmac = createHmac("sha256", "0123456789abcdef").update(signed);
    assert.equal(signature, hmac.digest("base64url"));
  });

  it("signs changed content again, and removes signatures of deleted tokens", async () => {
    await postToken(run, "abcdef", signing);
    await postToken(run, "second", signing);
    await signersAre("abcdef", "second");
    const former = (await entries())["jws-kubeconfig-second"];
    await run.test.patch(`${infos}/cluster-info`, { data: { kubeconfig: "changed" } });
    await run.until(async () => (await entries())["jws-kubeconfig-second"] !== former);
    await run.test.remove(`${secrets}/bootstrap-token-abcdef`);
    await signersAre("second");
  });

  it("retries a failed update", async () => {
    run.failNext("update", "configmaps", 2);
    await postToken(run, "abcdef", signing);
    await signersAre("abcdef");
    assert.equal(run.calls("update", "configmaps"), 3);
  });
});

describe("bootstrap-signer-controller without cluster-info", () => {
  const clusterInfo = { server: "https://10.1.1.1:6443", authorities: "PEM" };
  const signing = { "usage-bootstrap-signing": "true" };
  let run: ControllerTest;
  beforeEach(async () => {
    const test = await testRegistry({ namespaces: ["kube-system", "kube-public"] });
    run = await startController((context) => runBootstrapSigner(context, { clusterInfo }), {
      test,
    });
  });
  afterEach(() => run.stop());
  const signed = () =>
    run.until(async () => {
      if ((await run.test.names(infos)).length === 0) return undefined;
      const { data } = (await run.test.get(`${infos}/cluster-info`)).object;
      return data["jws-kubeconfig-abcdef"] && data;
    });

  it("creates it for the first signing token, and recreates it when deleted", async () => {
    run.failNext("create", "configmaps", 2);
    await postToken(run, "silent", {});
    await postToken(run, "abcdef", signing);
    const data = await signed();
    assert.match(data.kubeconfig, /^ {4}server: https:\/\/10\.1\.1\.1:6443$/m);
    assert.match(data.kubeconfig, /^ {4}certificate-authority-data: UEVN$/m);
    await run.test.remove(`${infos}/cluster-info`);
    await signed();
    await run.test.remove(`${secrets}/bootstrap-token-abcdef`);
    await run.test.remove(`${infos}/cluster-info`);
    await postToken(run, "second", {});
    assert.deepEqual(await run.test.names(infos), []);
  });
});

describe("token-cleaner-controller", () => {
  let run: ControllerTest;
  beforeEach(async () => (run = await startWith(runTokenCleaner)));
  afterEach(() => run.stop());

  const left = (...ids: readonly string[]) =>
    run.until(async () => {
      const names = await run.test.names(secrets);
      return names.join() === ids.map((id) => `bootstrap-token-${id}`).join();
    });

  it("deletes tokens that have expired, when they expire, and with an invalid expiration", async () => {
    await postToken(run, "always", {});
    await postToken(run, "past00", { expiration: "2020-01-01T00:00:00Z" });
    await postToken(run, "soon00", { expiration: new Date(Date.now() + 300).toISOString() });
    await postToken(run, "odd000", { expiration: "tomorrow" });
    await left("always");
  });

  it("retries a failed delete", async () => {
    run.failNext("delete", "secrets", 2);
    await postToken(run, "past00", { expiration: "2020-01-01T00:00:00Z" });
    await left();
    assert.equal(run.calls("delete", "secrets"), 3);
  });
});
