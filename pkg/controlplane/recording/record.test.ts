/** Records a server and loads the recording into another one. */
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { createLogger } from "#base";
import type { RunningServer, StartOptions } from "../index.ts";
import { call, RecordingScene, until } from "./testing.ts";
import { customResourceDefinition } from "../../crd/testing.ts";

const widgets = "/apis/example.com/v1/namespaces/shop/widgets";
const definition = customResourceDefinition(
  { plural: "widgets", kind: "Widget" },
  { version: { subresources: { status: {} } } },
);

describe("recordings", () => {
  let scene: RecordingScene;
  let folder: string;
  const start = (options?: StartOptions) => scene.start(options);
  const record = (...words: Parameters<RecordingScene["record"]>) => scene.record(...words);
  beforeEach(() => {
    scene = new RecordingScene();
    ({ folder } = scene);
  });
  afterEach(() => scene.end());

  /** A namespace with an owner, a dependent, a custom resource with a status, and a secret. */
  async function fill(server: RunningServer) {
    await call(server, "/api/v1/namespaces", { metadata: { name: "shop" } });
    await call(server, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition);
    const metadata = { name: "w", finalizers: ["example.com/hold"] };
    const widget = { apiVersion: "example.com/v1", kind: "Widget", metadata, spec: { size: 3 } };
    const post = { method: "POST", body: JSON.stringify(widget) };
    const headers = { "content-type": "application/json" };
    await until(async () => (await server.fetch(widgets, { ...post, headers })).ok || undefined);
    const patch = {
      method: "PATCH",
      headers: { "content-type": "application/merge-patch+json" },
      body: JSON.stringify({ status: { phase: "Stuck" } }),
    };
    // 429 while the storage of the definition is recreated.
    await until(async () => (await server.fetch(`${widgets}/w/status`, patch)).ok || undefined);
    await call(server, `${widgets}/w`, {}, "DELETE");
    const owner = await call(server, `${widgets}/w`);
    const { uid } = owner.metadata;
    const reference = { apiVersion: "example.com/v1", kind: "Widget", name: "w", uid };
    await call(server, "/api/v1/namespaces/shop/configmaps", {
      metadata: { name: "owned", ownerReferences: [reference] },
      data: { colour: "blue" },
    });
    const annotations = { "kubectl.kubernetes.io/last-applied-configuration": "{hunter2}" };
    const secret = { metadata: { name: "password", annotations }, stringData: { key: "hunter2" } };
    await call(server, "/api/v1/namespaces/shop/secrets", secret);
  }

  it("reproduce a cluster with uids, status, deletion and owners", async () => {
    const original = await start({ port: 0 });
    await fill(original);
    const copy = await start({ from: await record(original) });
    const paths = [
      `${widgets}/w`,
      "/api/v1/namespaces/shop",
      "/api/v1/namespaces/shop/configmaps/owned",
      "/api/v1/namespaces/kube-system",
    ];
    for (const url of paths) {
      const [before, after] = [await call(original, url), await call(copy, url)];
      delete before.metadata.resourceVersion;
      delete after.metadata.resourceVersion;
      assert.deepEqual(after, before);
    }
    const secret = await call(copy, "/api/v1/namespaces/shop/secrets/password");
    assert.deepEqual(Object.keys(secret.data), ["key"]);
  });

  it("keep integers beyond 2^53, also in changes", async () => {
    const original = await start({ port: 0 });
    await fill(original);
    const send = async (name: string) => {
      const type = '"apiVersion":"example.com/v1","kind":"Widget"';
      const body = `{${type},"metadata":{"name":"${name}"},"spec":{"size":9007199254740993}}`;
      const init = { method: "POST", headers: { "content-type": "application/json" }, body };
      assert.equal((await original.fetch(widgets, init)).status, 201);
    };
    await send("listed");
    const life = new AbortController();
    let objects = 0;
    const recorded = (count: number) => void (objects = count);
    const watching = { kinds: ["widgets"], namespaces: ["shop"], watch: true, recorded };
    const done = record(original, watching, life.signal);
    await until(() => (objects === 0 ? undefined : objects));
    await send("watched");
    const directory = path.join(folder, "recording");
    const files = path.join(directory, "namespaces/shop/widgets.example.com");
    await until(() => readdirSync(files).includes("watched.yaml") || undefined);
    life.abort();
    await done;
    const copy = await start({ from: directory });
    for (const name of ["listed", "watched"]) {
      const text = await (await copy.fetch(`${widgets}/${name}`)).text();
      assert.match(text, /"size":9007199254740993\b/, name);
    }
  });

  it("contain no values of Secrets", async () => {
    const original = await start({ port: 0 });
    await fill(original);
    const directory = await record(original);
    const files = readdirSync(directory, { recursive: true }).map(String);
    const secret = files.find((file) => file.endsWith("shop/secrets/password.yaml"));
    assert.ok(secret !== undefined, files.join("\n"));
    for (const file of files.filter((each) => each.endsWith(".yaml"))) {
      const text = readFileSync(path.join(directory, file), "utf8");
      assert.doesNotMatch(text, /hunter2|aHVudGVyMg/, file);
    }
  });

  it("load completely, including objects of controllers, scheduler and nodes", async () => {
    const all = { controllers: true, scheduler: true, nodes: { count: 1 } };
    const original = await start({ port: 0, ...all });
    const labels = { app: "web" };
    const pods = { containers: [{ name: "c", image: "i" }] };
    await call(original, "/apis/apps/v1/namespaces/default/deployments", {
      metadata: { name: "web" },
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: pods } },
    });
    const ports = [{ port: 80, nodePort: 30_080 }];
    const spec = { type: "NodePort", selector: labels, ports };
    await call(original, "/api/v1/namespaces/default/services", {
      metadata: { name: "web" },
      spec,
    });
    await call(original, "/apis/batch/v1/namespaces/default/jobs", {
      metadata: { name: "once" },
      spec: { template: { spec: { ...pods, restartPolicy: "Never" } } },
    });
    const podsUrl = "/api/v1/namespaces/default/pods";
    const isReady = ({ status }: any) =>
      status.conditions?.some(({ type, status: is }: any) => type === "Ready" && is === "True");
    const ready = await until(async () => {
      const { items } = await call(original, `${podsUrl}?labelSelector=app%3Dweb`);
      return items.find(isReady);
    });
    const copy = await start({ from: await record(original) });
    const after = await call(copy, `${podsUrl}/${ready.metadata.name}`);
    assert.equal(after.metadata.uid, ready.metadata.uid);
    assert.deepEqual(after.status, ready.status);
    const service = await call(copy, "/api/v1/namespaces/default/services/web");
    assert.equal(service.spec.ports[0].nodePort, 30_080);
  });

  it(
    "can be limited to namespaces and kinds, and include the Namespaces and definitions of their " +
      "objects",
    async () => {
      const original = await start({ port: 0 });
      await fill(original);
      const directory = await record(original, { namespaces: ["shop"], kinds: ["Widget"] });
      const files = readdirSync(directory, { recursive: true }).map(String);
      assert.deepEqual(files.filter((file) => file.endsWith(".yaml")).sort(), [
        "cluster/customresourcedefinitions.apiextensions.k8s.io/widgets.example.com.yaml",
        "cluster/namespaces/shop.yaml",
        "namespaces/shop/widgets.example.com/w.yaml",
      ]);
      const copy = await start({ from: directory });
      assert.equal((await call(copy, `${widgets}/w`)).status.phase, "Stuck");
    },
  );

  it("reject unknown kinds and namespaces, and a directory with files", async () => {
    const original = await start({ port: 0 });
    await assert.rejects(record(original, { kinds: ["gadgets"] }), /no kind "gadgets"/);
    rmSync(path.join(folder, "recording"), { recursive: true });
    await assert.rejects(
      record(original, { namespaces: ["nowhere"] }),
      /--namespaces: namespaces "nowhere" not found/,
    );
    rmSync(path.join(folder, "recording"), { recursive: true });
    const directory = await record(original, { kinds: ["namespaces"] });
    await assert.rejects(record(original, { directory }), /is not empty/);
  });

  it("fail with the URL of an unreachable cluster, and if they are interrupted", async () => {
    const original = await start({ port: 0 });
    await assert.rejects(
      record(original, {}, AbortSignal.abort()),
      /^RecordError: ended before all objects were recorded$/,
    );
    rmSync(path.join(folder, "recording"), { recursive: true });
    await original.close();
    await assert.rejects(
      record(original),
      /^RecordError: the API server at 127\.0\.0\.1:\d+ cannot be reached: connect ECONNREFUSED/,
    );
  });

  it("record changes of the cluster until they are stopped", async () => {
    const original = await start({ port: 0 });
    const configMaps = "/api/v1/namespaces/default/configmaps";
    await call(original, configMaps, { metadata: { name: "first" } });
    const life = new AbortController();
    let objects = 0;
    const options = { kinds: ["configmaps"], namespaces: ["default"], watch: true };
    const recorded = (count: number) => void (objects = count);
    const done = record(original, { ...options, recorded }, life.signal);
    await until(() => (objects === 0 ? undefined : objects));
    const directory = path.join(folder, "recording/namespaces/default/configmaps");
    await call(original, configMaps, { metadata: { name: "second" } });
    await until(() => readdirSync(directory).includes("second.yaml") || undefined);
    await call(original, `${configMaps}/first`, {}, "DELETE");
    await until(() => !readdirSync(directory).includes("first.yaml") || undefined);
    life.abort();
    await done;
  });

  it("list each object that cannot be loaded", async () => {
    mkdirSync(path.join(folder, "sub"));
    const objects = [
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "Not A Name" } },
      { apiVersion: "example.com/v1", kind: "Gadget", metadata: { name: "g" } },
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c", namespace: "nowhere" } },
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "fine" } },
    ];
    for (const [index, object] of objects.entries()) {
      writeFileSync(path.join(folder, "sub", `${index}.json`), JSON.stringify(object));
    }
    writeFileSync(path.join(folder, "broken.yaml"), "a: [");
    await assert.rejects(start({ from: folder }), ({ name, message }: Error) => {
      assert.equal(name, "StartError");
      assert.match(message, /^\S+ cannot be loaded:\n {2}broken\.yaml: yaml: /);
      assert.match(message, /sub\/0\.json: ConfigMap Not A Name: .*metadata\.name: Invalid value/);
      assert.match(message, /sub\/1\.json: Gadget g: the server has no kind Gadget in example/);
      assert.match(message, /sub\/2\.json: ConfigMap nowhere\/c: its namespace does not exist/);
      assert.doesNotMatch(message, /fine|the other objects/);
      return true;
    });
    const storage = { kind: "embedded", directory: path.join(folder, "store") } as const;
    await assert.rejects(
      start({ storage, from: folder }),
      /\nThe other objects are in the store: /,
    );
    await assert.rejects(
      start({ from: path.join(folder, "absent") }),
      /cannot be read \(ENOENT\)$/,
    );
  });

  it("load only into an empty store", async () => {
    const storage = { kind: "embedded", directory: path.join(folder, "store") } as const;
    await (await start({ storage })).close();
    await assert.rejects(
      start({ storage, from: folder }),
      /can only be loaded into an empty store/,
    );
  });

  it("can be written by hand: without uids, with several documents in a file, with Lists", async () => {
    const text = [
      "apiVersion: v1",
      "kind: List",
      "items:",
      "- {apiVersion: v1, kind: ConfigMap, metadata: {name: owner}}",
      "---",
      "apiVersion: v1",
      "kind: ConfigMap",
      "metadata:",
      "  name: owned",
      "  ownerReferences:",
      "  - {apiVersion: v1, kind: ConfigMap, name: owner}",
      "  - {apiVersion: v1, kind: ConfigMap, name: absent, uid: gone}",
      "",
    ].join("\n");
    writeFileSync(path.join(folder, "objects.yaml"), text);
    const lines: string[] = [];
    const logger = createLogger({ write: (line) => lines.push(line) });
    const server = await start({ from: folder, logger });
    const configMaps = "/api/v1/namespaces/default/configmaps";
    const owner = await call(server, `${configMaps}/owner`);
    const owned = await call(server, `${configMaps}/owned`);
    assert.deepEqual(
      owned.metadata.ownerReferences.map(({ uid }: any) => uid),
      [owner.metadata.uid],
    );
    assert.match(
      lines.join("\n"),
      /dropped the owner reference to ConfigMap absent, which does not exist/,
    );
  });
});
