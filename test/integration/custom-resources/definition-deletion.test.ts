/** How long deleting a CustomResourceDefinition on etcd waits for other servers. */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { type RunningServer, startServer } from "../../../cmd/keelson/index.ts";
import { type EtcdCluster, startEtcd } from "../../../pkg/storage/etcd/testing.ts";
import { customResourceDefinition } from "../../../pkg/crd/testing.ts";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const name = "cogs.example.com";
const leases =
  "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases" +
  "?labelSelector=apiserver.kubernetes.io/identity";
/** Time in ms for which a server waits if there are others. */
const settleMs = 1_500;

describe("deletion of a CustomResourceDefinition on etcd", function () {
  let etcd: EtcdCluster;
  let server: RunningServer;
  before(async () => {
    etcd = await startEtcd();
    server = await start();
  });
  after(async () => {
    await server?.close();
    await etcd?.[Symbol.asyncDispose]();
  });

  function start(): Promise<RunningServer> {
    const storage = { kind: "etcd", endpoints: etcd.endpoints } as const;
    return startServer({ storage, port: 0, controllers: false });
  }

  /** Creates a definition with an object and deletes it; returns the duration of the deletion in ms. */
  async function deletionMs(through: RunningServer): Promise<number> {
    const send = async (method: string, path: string, body?: object) => {
      const headers = { "content-type": "application/json" };
      const init = body === undefined ? {} : { headers, body: JSON.stringify(body) };
      return through.fetch(path, { method, ...init });
    };
    const created = await send(
      "POST",
      definitions,
      customResourceDefinition(
        { plural: "cogs", kind: "Cog" },
        { scope: "Cluster", schema: { type: "object" } },
      ),
    );
    assert.equal(created.status, 201, await created.text());
    const cogs = "/apis/example.com/v1/cogs";
    while ((await send("GET", cogs)).status !== 200) await delay(5);
    const cog = { apiVersion: "example.com/v1", kind: "Cog", metadata: { name: "a" } };
    assert.equal((await send("POST", cogs, cog)).status, 201);
    const start = performance.now();
    assert.equal((await send("DELETE", `${definitions}/${name}`)).status, 200);
    while ((await send("GET", `${definitions}/${name}`)).status !== 404) await delay(5);
    return performance.now() - start;
  }

  async function leaseCount(): Promise<number> {
    const { items } = (await (await server.fetch(leases)).json()) as { items: unknown[] };
    return items.length;
  }

  it("does not wait if no other server has a Lease", async () => {
    assert.equal(await leaseCount(), 1);
    assert.ok((await deletionMs(server)) < settleMs);
  });

  it("waits while another server has a Lease, through either of them", async () => {
    const other = await start();
    try {
      // The Lease is stored before the other server is ready.
      assert.equal(await leaseCount(), 2);
      assert.ok((await deletionMs(server)) >= settleMs);
      assert.ok((await deletionMs(other)) >= settleMs);
    } finally {
      await other.close();
    }
  });

  it("waits if servers have no Leases", async () => {
    const gateless = await startEtcd();
    const storage = { kind: "etcd", endpoints: gateless.endpoints } as const;
    const featureGates = new Map([["APIServerIdentity", "false"]]);
    const alone = await startServer({ storage, port: 0, controllers: false, featureGates });
    try {
      assert.ok((await deletionMs(alone)) >= settleMs);
    } finally {
      await alone.close();
      await gateless[Symbol.asyncDispose]();
    }
  });
});
