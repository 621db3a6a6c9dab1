import assert from "node:assert/strict";
import { type ControllerTest, startController } from "../testing.ts";
import { runRootCaPublisher } from "./root-ca-publisher.ts";

const path = "v1/configmaps/ns/kube-root-ca.crt";

describe("root-ca-certificate-publisher-controller", () => {
  let run: ControllerTest;
  beforeEach(async () => {
    run = await startController((context) => runRootCaPublisher(context, "PEM"));
  });
  afterEach(() => run.stop());

  const published = async (): Promise<boolean> => {
    if ((await run.test.names("v1/configmaps/ns")).length === 0) return false;
    const { data } = (await run.test.get(path)).object;
    return JSON.stringify(data) === '{"ca.crt":"PEM"}';
  };

  it("publishes the certificates, and restores them when they are changed or deleted", async () => {
    await run.until(published);
    await run.test.patch(path, { data: { "ca.crt": "mine", more: "mine" } });
    await run.until(published);
    await run.test.remove(path);
    await run.until(published);
  });

  it("describes the ConfigMap, and repairs an empty description", async () => {
    const key = "kubernetes.io/description";
    const described = async (): Promise<string> =>
      (await published()) && (await run.test.get(path)).object.metadata.annotations?.[key];
    const text = await run.until(described);
    assert.match(text, /^Contains a CA bundle /);
    await run.test.patch(path, { metadata: { annotations: { [key]: "mine", other: "x" } } });
    await run.test.patch(path, { data: { more: "mine" } });
    await run.until(published);
    assert.equal(await described(), text);
    await run.test.patch(path, { metadata: { annotations: { [key]: "mine" } } });
    await run.test.patch(path, { metadata: { annotations: { [key]: null } } });
    await run.until(async () => (await described()) === text);
    const { annotations } = (await run.test.get(path)).object.metadata;
    assert.equal(annotations.other, "x");
  });

  it("retries a failed update, and reports repeated failures", async () => {
    await run.until(published);
    run.failNext("update", "configmaps", 5);
    await run.test.patch(path, { data: { "ca.crt": "mine" } });
    await run.until(published);
    assert.equal(run.calls("update", "configmaps"), 6);
    assert.match(run.reports.join("\n"), /root_ca_cert_publisher.*ns.*injected/);
  });
});
