/**
 * The layout in etcd equals that of kube-apiserver, as read with a plain etcd client.
 */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { Etcd3 } from "etcd3";
import { builtinKinds } from "#api";
import { Catalog, kubernetes } from "#meta";
import { fromJson, toProtobuf, unwrapEnvelope, wrapEnvelope } from "#schema";
import { type RunningServer, startServer } from "../../../cmd/keelson/index.ts";
import { type EtcdCluster, startEtcd } from "../../../pkg/storage/etcd/testing.ts";
import { root } from "../../tidy/source.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
const catalog = new Catalog(builtinKinds, kubernetes, () => true);
/** Kinds with another storage version than in kube-apiserver, which can read this one, too. */
const storedNewer = ["customresourcedefinitions"];
const configMapStruct = catalog.find("", "v1", "configmaps")?.struct;

/** An Ingress of networking.k8s.io/v1beta1 as kube-apiserver 1.20 stored it. */
const oldIngress = [
  "azhzAAokChluZXR3b3JraW5nLms4cy5pby92MWJldGExEgdJbmdyZXNzEqADCq0CCgNvbGQSABoHZGVmYXVsdCIA",
  "KiQ2MjA5ODBjNy03Yjg2LTQwYzktODNmYi1iZDc0MGI5MTIyNTgyADgBQggIuYKI2AYQAHoAigHhAQoOa3ViZWN0",
  "bC1jcmVhdGUSBlVwZGF0ZRoUbmV0d29ya2luZy5rOHMuaW8vdjEiCAi5gojYBhAAMghGaWVsZHNWMTqcAQqZAXsi",
  "ZjpzcGVjIjp7ImY6ZGVmYXVsdEJhY2tlbmQiOnsiLiI6e30sImY6c2VydmljZSI6eyIuIjp7fSwiZjpuYW1lIjp7",
  "fSwiZjpwb3J0Ijp7Ii4iOnt9LCJmOm51bWJlciI6e319fX0sImY6aW5ncmVzc0NsYXNzTmFtZSI6e30sImY6cnVs",
  "ZXMiOnt9LCJmOnRscyI6e319fRJqCg0KA3N2YxIGCAAQUBoAEgYKAWESAWIaTQoDYS5iEkYKRAoeCgEvEhEKA3dl",
  "YhIKCAEQABoEaHR0cBoGUHJlZml4CiIKAi96EhUKABIGCAAQABoAGgkKAWMSAWEaAWIaBUV4YWN0IgJpYxoCCgAa",
  "ACIA",
].join("");

describe("layout in etcd", () => {
  let etcd: EtcdCluster;
  let plain: Etcd3;
  const servers: RunningServer[] = [];

  before(async () => {
    etcd = await startEtcd();
    plain = new Etcd3({ hosts: [...etcd.endpoints] });
    for (const storageMediaType of ["json", "protobuf"] as const) {
      const storage = { kind: "etcd", endpoints: etcd.endpoints } as const;
      servers.push(await startServer({ storage, storageMediaType, controllers: false }));
    }
  });
  after(async () => {
    await Promise.all(servers.map((server) => server.close()));
    plain?.close();
    await etcd?.[Symbol.asyncDispose]();
  });

  async function create(server: RunningServer, name: string): Promise<any> {
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { a: "1" } };
    const headers = { "content-type": "application/json" };
    const init = { method: "POST", headers, body: JSON.stringify(object) };
    const answer = await server.fetch(configMaps, init);
    assert.equal(answer.status, 201);
    return answer.json();
  }

  async function read(server: RunningServer, name: string): Promise<any> {
    return (await server.fetch(`${configMaps}/${name}`)).json();
  }

  it("JSON values contain the object without its resourceVersion", async () => {
    const created = await create(servers[0] as RunningServer, "in-json");
    const stored = JSON.parse((await plain.get("/registry/configmaps/default/in-json")) ?? "");
    assert.equal(stored.kind, "ConfigMap");
    assert.equal(stored.metadata.uid, created.metadata.uid);
    assert.equal(stored.metadata.resourceVersion, undefined);
    const { kvs } = await plain.getAll().prefix("/registry/configmaps/default/in-json").exec();
    assert.equal(created.metadata.resourceVersion, kvs[0]?.mod_revision);
  });

  it("Protobuf values have kube-apiserver's envelope", async () => {
    await create(servers[1] as RunningServer, "in-protobuf");
    const stored = await plain.get("/registry/configmaps/default/in-protobuf").buffer();
    assert.equal(stored?.subarray(0, 4).toString("latin1"), "k8s\0");
    const envelope = unwrapEnvelope(stored ?? Buffer.alloc(0));
    assert.equal(envelope?.kind, "ConfigMap");
    assert.equal(envelope?.apiVersion, "v1");
  });

  it("both servers read JSON and Protobuf, and each other's values", async () => {
    assert.ok(configMapStruct);
    const others = {
      data: { by: "hand" },
      metadata: {
        namespace: "default",
        creationTimestamp: "2026-01-02T03:04:05Z",
        name: "by-hand",
        uid: "8a8e6c0a-0000-4000-8000-000000000001",
      },
    };
    const typed = { apiVersion: "v1", ...others, kind: "ConfigMap" };
    await plain.put("/registry/configmaps/default/by-hand").value(JSON.stringify(typed, null, 1));
    const object = fromJson(configMapStruct, {
      ...others,
      metadata: { ...others.metadata, name: "by-wire" },
    });
    const envelope = wrapEnvelope(
      { apiVersion: "v1", kind: "ConfigMap" },
      toProtobuf(configMapStruct, object),
    );
    await plain.put("/registry/configmaps/default/by-wire").value(Buffer.from(envelope));
    for (const server of servers) {
      assert.deepEqual((await read(server, "in-json")).data, { a: "1" });
      assert.deepEqual((await read(server, "in-protobuf")).data, { a: "1" });
      assert.deepEqual((await read(server, "by-hand")).data, { by: "hand" });
      const wire = await read(server, "by-wire");
      assert.equal(wire.metadata.creationTimestamp, "2026-01-02T03:04:05Z");
      assert.deepEqual(wire.data, { by: "hand" });
    }
  });

  it("values that kube-apiserver stored in removed versions are converted", async () => {
    const [server] = servers as [RunningServer];
    const value = Buffer.from(oldIngress, "base64");
    await plain.put("/registry/ingress/default/old").value(value);
    const path = "/apis/networking.k8s.io/v1/namespaces/default/ingresses";
    const { apiVersion, spec }: any = await (await server.fetch(`${path}/old`)).json();
    const service = { name: "web", port: { name: "http" } };
    const resource = { apiGroup: "c", kind: "a", name: "b" };
    assert.deepEqual(
      [apiVersion, spec],
      [
        "networking.k8s.io/v1",
        {
          ingressClassName: "ic",
          defaultBackend: { service: { name: "svc", port: { number: 80 } } },
          tls: [{ hosts: ["a"], secretName: "b" }],
          rules: [
            {
              host: "a.b",
              http: {
                paths: [
                  { path: "/", pathType: "Prefix", backend: { service } },
                  { path: "/z", pathType: "Exact", backend: { resource } },
                ],
              },
            },
          ],
        },
      ],
    );
    const list: any = await (await server.fetch(path)).json();
    assert.deepEqual(list.items[0].spec, spec);
  });

  it("an empty selector of a PodDisruptionBudget stored in v1beta1 selects no pods", async () => {
    const [server] = servers as [RunningServer];
    const budget = { apiVersion: "policy/v1beta1", kind: "PodDisruptionBudget" };
    const metadata = { name: "old", namespace: "default", uid: "u" };
    const value = JSON.stringify({ ...budget, metadata, spec: { minAvailable: 1, selector: {} } });
    await plain.put("/registry/poddisruptionbudgets/default/old").value(value);
    const path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/old";
    const { spec }: any = await (await server.fetch(path)).json();
    const key = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match";
    assert.deepEqual(spec.selector, { matchExpressions: [{ key, operator: "Exists" }] });
  });

  it("custom resources preserve unknown fields with v1beta1's preserveUnknownFields", async () => {
    const [server] = servers as [RunningServer];
    const names = { plural: "olds", singular: "old", kind: "Old", listKind: "OldList" };
    const properties = { spec: { type: "object", properties: { a: { type: "integer" } } } };
    const validation = { openAPIV3Schema: { type: "object", properties } };
    const value = JSON.stringify({
      apiVersion: "apiextensions.k8s.io/v1beta1",
      kind: "CustomResourceDefinition",
      metadata: { name: "olds.example.com", uid: "u" },
      spec: { group: "example.com", version: "v1", scope: "Namespaced", names, validation },
    });
    const definitions = "/registry/apiextensions.k8s.io/customresourcedefinitions";
    await plain.put(`${definitions}/olds.example.com`).value(value);
    const path = "/apis/example.com/v1/namespaces/default/olds";
    while ((await server.fetch(path)).status !== 200) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    const send = async (address: string, method: string, body: object): Promise<any> => {
      const type = method === "PATCH" ? "merge-patch+json" : "json";
      const headers = { "content-type": `application/${type}` };
      const init = { method, headers, body: JSON.stringify(body) };
      for (;;) {
        const response = await server.fetch(address, init);
        // The CRD controllers may still update this one; clients then receive 429.
        if (response.status !== 429) return response.json();
      }
    };
    const typeMeta = { apiVersion: "example.com/v1", kind: "Old" };
    const spec = { a: 1, b: { c: [{ d: null }] } };
    const object = { ...typeMeta, metadata: { name: "o" }, spec, more: true };
    const made = await send(`${path}?fieldValidation=Strict`, "POST", object);
    assert.deepEqual([made.spec, made.more], [spec, true], made.message);
    const patched = await send(`${path}/o`, "PATCH", { metadata: { labels: { x: "y" } } });
    assert.deepEqual([patched.spec, patched.more], [spec, true], patched.message);
    const wrong = await send(`${path}/o`, "PATCH", { spec: { a: "1" } });
    assert.equal(wrong.code, 422);
  });

  it("every kind has kube-apiserver's key", function () {
    const facts = path.join(root, "../shared/facts/storage/etcd-keys.json");
    if (!existsSync(facts)) return this.skip();
    const keys: Record<string, { prefix: string; storageGVK?: string }> = JSON.parse(
      readFileSync(facts, "utf8"),
    );
    let checked = 0;
    for (const resource of catalog.resources) {
      const fact = keys[`${resource.groupVersion}/${resource.plural}`];
      if (fact === undefined) continue;
      checked++;
      assert.equal(`/registry${resource.keyPrefix}`, fact.prefix, resource.plural);
      if (storedNewer.includes(resource.plural)) continue;
      const stored = fact.storageGVK ?? `${resource.groupVersion}/${resource.kind.kind}`;
      assert.equal(`${resource.hub.groupVersion}/${resource.kind.kind}`, stored, resource.plural);
    }
    assert.ok(checked > 10, `only ${checked} kinds were compared`);
  });
});
