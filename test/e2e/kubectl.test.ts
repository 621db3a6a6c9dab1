/**
 * A stock kubectl against a live server: what a user does in a first session, mistakes included.
 */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type RunningServer, startServer, type StorageOptions } from "../../cmd/keelson/index.ts";
import { type EtcdCluster, startEtcd } from "../../pkg/storage/etcd/testing.ts";
import { Kubectl } from "./kubectl.ts";

for (const store of ["memory", "etcd"] as const) {
  describe(`kubectl, objects in ${store}`, () => {
    firstSession(store);
  });
}

function firstSession(store: "memory" | "etcd"): void {
  let server: RunningServer;
  let client: Kubectl;
  let folder: string;
  let etcd: EtcdCluster | undefined;

  before(async function () {
    if (!Kubectl.isThere) this.skip();
    if (store === "etcd") etcd = await startEtcd();
    const storage: StorageOptions =
      etcd === undefined ? { kind: "memory" } : { kind: "etcd", endpoints: etcd.endpoints };
    server = await startServer({ port: 0, storage });
    client = new Kubectl(server.kubeconfig);
    ({ folder } = client);
  });
  after(async () => {
    await server?.close();
    await etcd?.[Symbol.asyncDispose]();
    client?.[Symbol.dispose]();
  });

  const attempt = (words: string, input?: string) => client.attempt(words, input);
  const kubectl = (words: string, input?: string) => client.ok(words, input);

  it("asks for the version and the resources", async () => {
    assert.match(await kubectl("version"), /Server Version: v1\.34/);
    const resources = await kubectl("api-resources");
    assert.match(resources, /^configmaps +cm +v1 +true +ConfigMap$/m);
    assert.match(resources, /^leases +coordination\.k8s\.io\/v1 +true +Lease$/m);
    assert.match(await kubectl("api-versions"), /^coordination\.k8s\.io\/v1$/m);
    assert.match(
      await kubectl("explain lease.spec.holderIdentity"),
      /FIELD: holderIdentity <string>/,
    );
  });

  it("applies a folder of manifests and reads it back in every form", async () => {
    const manifests = path.join(folder, "manifests");
    mkdirSync(manifests);
    writeFileSync(path.join(manifests, "0-namespace.yaml"), namespaceManifest);
    writeFileSync(path.join(manifests, "1-settings.yaml"), settingsManifest);
    const applied = await kubectl("apply -f manifests");
    assert.match(
      applied,
      /namespace\/shop created\nconfigmap\/colours created\nsecret\/door created/,
    );
    assert.match(await kubectl("apply -f manifests"), /configmap\/colours unchanged/);
    assert.match(await kubectl("-n shop get cm colours"), /NAME +DATA +AGE\ncolours +2 /);
    assert.match(await kubectl("-n shop get cm colours -o yaml"), /^data:\n {2}grass: green\n/m);
    assert.match(await kubectl("get cm -A -l season=summer -o name"), /configmap\/colours/);
    const named = await kubectl("-n shop get cm --field-selector metadata.name=colours -o name");
    assert.equal(named, "configmap/colours\n");
    assert.match(await kubectl("-n shop get secrets -o wide"), /door +Opaque +1 /);
    assert.match(await kubectl("-n shop describe secret door"), /key: +6 bytes/);
    assert.match(await kubectl("get --raw /readyz"), /^ok$/);
  });

  it("creates, edits by patch, labels and annotates", async () => {
    await kubectl("-n shop create configmap one --from-literal=a=1");
    const patch = '{"data":{"b":"2"}}';
    for (const type of ["merge", "strategic"]) {
      assert.match(await kubectl(`-n shop patch cm one --type=${type} -p ${patch}`), /patched/);
    }
    const operations = '[{"op":"replace","path":"/data/a","value":"3"}]';
    await kubectl(`-n shop patch cm one --type=json -p ${operations}`);
    await kubectl("-n shop label cm one season=winter");
    await kubectl("-n shop annotate cm one note=short");
    const object = JSON.parse(await kubectl("-n shop get cm one -o json"));
    assert.deepEqual(object.data, { a: "3", b: "2" });
    assert.equal(object.metadata.labels.season, "winter");
    assert.equal(object.metadata.annotations.note, "short");
  });

  it("reads long lists in chunks and watches", async () => {
    const names = Array.from({ length: 30 }, (_, n) => `chunk-${String(n).padStart(2, "0")}`);
    await kubectl("create -f -", names.map(chunkManifest).join("---\n"));
    const listed = await kubectl("-n shop get cm -l part=chunk --chunk-size=7 -o name");
    assert.deepEqual(
      listed.trim().split("\n"),
      names.map((name) => `configmap/${name}`),
    );
    const later = (name: string) => chunkManifest(name).replace("part: chunk", "part: later");
    await kubectl("create -f -", later("early"));
    using watching = client.start("-n shop get cm -l part=later --watch -o name");
    await watching.printed("configmap/early");
    await kubectl("create -f -", later("late"));
    await watching.printed("configmap/late");
  });

  it("deletes with each propagation, and a namespace with all it holds", async () => {
    const owner = JSON.parse(await kubectl("-n shop get cm colours -o json"));
    for (const [name, cascade] of [
      ["held", "background"],
      ["kept", "orphan"],
      ["first", "foreground"],
    ] as const) {
      await kubectl(`-n shop create cm owner-${name}`);
      const { uid } = JSON.parse(await kubectl(`-n shop get cm owner-${name} -o json`)).metadata;
      await kubectl("create -f -", dependentManifest(name, `owner-${name}`, uid));
      await kubectl(`-n shop delete cm owner-${name} --cascade=${cascade} --wait --timeout=20s`);
    }
    await eventually(async () => (await attempt("-n shop get cm held")).status !== 0);
    assert.notEqual((await attempt("-n shop get cm first")).status, 0);
    const kept = JSON.parse(await kubectl("-n shop get cm kept -o json"));
    assert.equal(kept.metadata.ownerReferences, undefined);
    assert.equal(owner.metadata.namespace, "shop");
    await kubectl("delete namespace shop --wait --timeout=30s");
    assert.notEqual((await attempt("get namespace shop")).status, 0);
    assert.equal(await kubectl("get cm -A -l part=chunk -o name"), "");
  });

  it("explains mistakes", async () => {
    await kubectl("create namespace mistakes");
    const mistakes: readonly (readonly [string, RegExp])[] = [
      ["-n mistakes get cm nothing", /\(NotFound\): configmaps "nothing" not found/],
      ["-n nowhere create cm a", /namespaces "nowhere" not found/],
      ["-n mistakes create cm Bad_Name", /Invalid value: "Bad_Name"/],
      ["get gadgets", /the server doesn't have a resource type "gadgets"/],
      ["-n mistakes get cm -l a==b==c", /found '==', expected: ',' or 'end of string'/],
      ["delete namespace default", /this namespace may not be deleted/],
    ];
    for (const [words, expected] of mistakes) {
      const { status, error } = await attempt(words);
      assert.notEqual(status, 0, words);
      assert.match(error, expected, words);
    }
    const unknown = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndatas: {}\n";
    const refused = await attempt("-n mistakes create --validate=strict -f -", unknown);
    assert.match(refused.error, /unknown field "datas"/);
  });
}

async function eventually(holds: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 1200; tries++) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.fail("it did not come to hold within twenty seconds");
}

const namespaceManifest = `apiVersion: v1
kind: Namespace
metadata:
  name: shop
`;

const settingsManifest = `apiVersion: v1
kind: ConfigMap
metadata:
  name: colours
  namespace: shop
  labels:
    season: summer
data:
  sky: blue
  grass: green
---
apiVersion: v1
kind: Secret
metadata:
  name: door
  namespace: shop
stringData:
  key: sesame
`;

function chunkManifest(name: string): string {
  return `apiVersion: v1
kind: ConfigMap
metadata:
  name: ${name}
  namespace: shop
  labels:
    part: chunk
`;
}

function dependentManifest(name: string, owner: string, uid: string): string {
  return `apiVersion: v1
kind: ConfigMap
metadata:
  name: ${name}
  namespace: shop
  ownerReferences:
  - apiVersion: v1
    kind: ConfigMap
    name: ${owner}
    uid: ${uid}
    blockOwnerDeletion: true
`;
}
