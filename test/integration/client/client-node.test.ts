/** The official JavaScript client: all verbs, and an informer across a restart of the server. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import * as k8s from "@kubernetes/client-node";
import { type RunningServer, startServer } from "../../../cmd/keelson/index.ts";

const rootCa = "kube-root-ca.crt";

describe("@kubernetes/client-node", () => {
  let folder: string;
  let server: RunningServer;

  const start = (port: number) =>
    startServer({
      port,
      storage: { kind: "embedded", directory: path.join(folder, "store") },
      certificateDirectory: path.join(folder, "pki"),
    });

  before(async () => {
    folder = mkdtempSync(path.join(tmpdir(), "keelson-client-"));
    server = await start(0);
  });
  after(async () => {
    await server?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  function configuration(): k8s.KubeConfig {
    const config = new k8s.KubeConfig();
    config.loadFromString(server.kubeconfig);
    return config;
  }

  function configMapNamed(name: string): k8s.V1ConfigMap {
    return { metadata: { name }, data: { name } };
  }

  it("creates, reads, replaces, patches, lists and deletes", async () => {
    const api = configuration().makeApiClient(k8s.CoreV1Api);
    const namespace = "default";
    const created = await api.createNamespacedConfigMap({ namespace, body: configMapNamed("a") });
    assert.equal(created.data?.["name"], "a");
    const replaced = await api.replaceNamespacedConfigMap({
      namespace,
      name: "a",
      body: { ...created, data: { name: "b" } },
    });
    assert.notEqual(replaced.metadata?.resourceVersion, created.metadata?.resourceVersion);
    await assert.rejects(
      api.replaceNamespacedConfigMap({ namespace, name: "a", body: created }),
      (error: k8s.ApiException<string>) =>
        error.code === 409 && /has been modified/.test(error.body),
    );
    const listed = await api.listNamespacedConfigMap({ namespace, labelSelector: "!none" });
    // Every namespace also has the ConfigMap kube-root-ca.crt.
    assert.deepEqual(
      listed.items.map((item) => item.metadata?.name).filter((name) => name !== rootCa),
      ["a"],
    );
    await api.deleteNamespacedConfigMap({ namespace, name: "a" });
    await assert.rejects(
      api.readNamespacedConfigMap({ namespace, name: "a" }),
      (error: k8s.ApiException<string>) => error.code === 404,
    );
  });

  it("its informer loses no event across a restart of the server", async () => {
    const config = configuration();
    const api = config.makeApiClient(k8s.CoreV1Api);
    const seen = new Map<string, string>();
    const listPath = "/api/v1/namespaces/default/configmaps";
    const list = () => api.listNamespacedConfigMap({ namespace: "default" });
    const informer = k8s.makeInformer(config, listPath, list);
    const note = (object: k8s.V1ConfigMap) =>
      seen.set(object.metadata?.name ?? "", object.metadata?.resourceVersion ?? "");
    let stopped = false;
    informer.on("add", note);
    informer.on("update", note);
    informer.on("delete", (object) => seen.delete(object.metadata?.name ?? ""));
    informer.on("error", () => {
      if (!stopped) setTimeout(() => void informer.start(), 100);
    });
    await informer.start();
    const port = Number(new URL(server.url).port);
    const create = (name: string) =>
      api.createNamespacedConfigMap({ namespace: "default", body: configMapNamed(name) });
    for (let n = 0; n < 20; n++) await create(`before-${n}`);
    await server.close();
    server = await start(port);
    for (let n = 0; n < 20; n++) await create(`after-${n}`);
    await api.deleteNamespacedConfigMap({ namespace: "default", name: "before-3" });
    await eventually(() => seen.has("after-19") && !seen.has("before-3"));
    stopped = true;
    await informer.stop();
    const { items } = await list();
    const stored = items.map((item) => item.metadata?.name).sort();
    assert.equal(stored.filter((name) => name !== rootCa).length, 39);
    assert.deepEqual([...seen.keys()].sort(), stored);
  });
});

async function eventually(holds: () => boolean): Promise<void> {
  for (let tries = 0; tries < 900; tries++) {
    if (holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.fail("it did not come to hold within fifteen seconds");
}
