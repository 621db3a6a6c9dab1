import assert from "node:assert/strict";
import { Etcd3 } from "etcd3";
import { objectStore } from "../object-store.ts";
import type { Backend } from "../backend.ts";
import type { ObjectStore } from "../store.ts";
import { etcdBackend } from "./etcd-backend.ts";
import { startEtcd, type EtcdCluster } from "./testing.ts";

/** The object store and a stranger's client on one etcd, as beside a stock kube-apiserver. */
describe("etcd beside other clients", () => {
  let etcd: EtcdCluster;
  let backend: Backend;
  let store: ObjectStore;
  let plain: Etcd3;

  before(async () => {
    etcd = await startEtcd();
    backend = etcdBackend({ endpoints: etcd.endpoints });
    store = objectStore(backend, { root: "/registry" });
    plain = new Etcd3({ hosts: etcd.endpoints[0] ?? "" });
  });
  after(async () => {
    plain.close();
    await backend[Symbol.asyncDispose]();
    await etcd[Symbol.asyncDispose]();
  });

  const envelope = Buffer.from("k8s\0\n\x0f\n\x02v1\x12\tConfigMap\x12\x00", "latin1");

  it("writes what the other one reads: key, bytes, revisions", async () => {
    const entry = await store.create("/configmaps/default/ours", envelope);
    const found = await plain.get("/registry/configmaps/default/ours").exec();
    assert.equal(found.kvs.length, 1);
    const [kv] = found.kvs;
    assert.deepEqual(kv?.value, envelope);
    assert.equal(kv?.mod_revision, String(entry?.modRevision));
    assert.equal(kv?.lease, "0");
  });

  it("reads, watches and replaces what the other one writes", async () => {
    const abort = new AbortController();
    const fromRevision = (await backend.revision()) + 1;
    const watch = backend.watch({ fromRevision, signal: abort.signal });
    const put = await plain.put("/registry/configmaps/default/theirs").value(envelope).exec();
    const { entry } = await store.get("/configmaps/default/theirs");
    assert.equal(String(entry?.modRevision), put.header.revision);
    assert.deepEqual(entry && Buffer.from(entry.value), envelope);
    for await (const { events } of watch) {
      const [event] = events;
      if (event === undefined) continue;
      assert.ok(event.type === "put" && event.entry.key === "/registry/configmaps/default/theirs");
      break;
    }
    abort.abort();
    const version = entry?.modRevision ?? 0;
    const replaced = await store.update("/configmaps/default/theirs", version, envelope);
    assert.equal(replaced.done, true);
    await plain.put("/registry/configmaps/default/theirs").value("{}").exec();
    const late = await store.delete("/configmaps/default/theirs", version);
    assert.ok(!late.done && Buffer.from(late.current?.value ?? []).toString() === "{}");
  });

  it("gives a key with a time to live a lease that the other one sees", async () => {
    await store.create("/events/default/e", envelope, { ttlSeconds: 3_600 });
    await store.create("/events/default/f", envelope, { ttlSeconds: 3_600 });
    const { kvs } = await plain.getAll().prefix("/registry/events/").exec();
    const [first, second] = kvs;
    assert.equal(first?.lease, second?.lease, "one lease for both");
    const { grantedTTL } = await plain.leaseClient.leaseTimeToLive({ ID: first?.lease ?? "0" });
    assert.equal(grantedTTL, "3660");
  });

  it("grants a new lease when the one in use was revoked", async () => {
    await store.create("/leased/a", envelope, { ttlSeconds: 7_200 });
    const { kvs } = await plain.get("/registry/leased/a").exec();
    await plain.leaseClient.leaseRevoke({ ID: kvs[0]?.lease ?? "0" });
    assert.equal((await store.get("/leased/a")).entry, undefined);
    assert.ok(await store.create("/leased/b", envelope, { ttlSeconds: 7_200 }));
    const after = await plain.get("/registry/leased/b").exec();
    assert.notEqual(after.kvs[0]?.lease, kvs[0]?.lease);
  });
});
