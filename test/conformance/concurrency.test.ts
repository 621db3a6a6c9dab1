/** Many writers on one object through three replicas of one etcd: no update is lost. */
import assert from "node:assert/strict";
import { type RunningServer, startServer } from "../../cmd/keelson/index.ts";
import { type EtcdCluster, startEtcd } from "../../pkg/storage/etcd/testing.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
const writers = 200;

describe("200 writers through three replicas", function () {
  this.timeout(60_000);
  let etcd: EtcdCluster;
  const replicas: RunningServer[] = [];

  before(async () => {
    etcd = await startEtcd();
    const storage = { kind: "etcd", endpoints: etcd.endpoints } as const;
    // All three begin at the same moment on an empty store.
    const starting = [1, 2, 3].map(() => startServer({ storage, controllers: false }));
    replicas.push(...(await Promise.all(starting)));
  });
  after(async () => {
    await Promise.all(replicas.map((server) => server.close()));
    await etcd?.[Symbol.asyncDispose]();
  });

  async function send(n: number, method: string, path: string, body?: object) {
    const server = replicas[n % replicas.length] as RunningServer;
    const type = method === "PATCH" ? "merge-patch+json" : "json";
    const headers = { "content-type": `application/${type}` };
    const init = { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) };
    const answer = await server.fetch(path, init);
    return { status: answer.status, body: (await answer.json()) as any };
  }

  it("replaces with a version: every increment counts", async () => {
    const object = { metadata: { name: "counter" }, data: { count: "0" } };
    await send(0, "POST", configMaps, { apiVersion: "v1", kind: "ConfigMap", ...object });
    let conflicts = 0;
    const increment = async (n: number) => {
      for (;;) {
        const { body } = await send(n, "GET", `${configMaps}/counter`);
        body.data.count = String(Number(body.data.count) + 1);
        const written = await send(n, "PUT", `${configMaps}/counter`, body);
        if (written.status === 200) return;
        assert.equal(written.status, 409, JSON.stringify(written.body));
        conflicts++;
        await backoff();
      }
    };
    await Promise.all(Array.from({ length: writers }, (_, n) => increment(n)));
    const { body } = await send(0, "GET", `${configMaps}/counter`);
    assert.equal(body.data.count, String(writers));
    assert.ok(conflicts > 0, "the writers never met");
  });

  it("merge patches of one key each: every key is there", async () => {
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "keys" } };
    await send(0, "POST", configMaps, object);
    const patch = async (n: number) => {
      for (;;) {
        const body = { data: { [`key-${n}`]: String(n) } };
        const written = await send(n, "PATCH", `${configMaps}/keys`, body);
        if (written.status === 200) return;
        assert.equal(written.status, 409, JSON.stringify(written.body));
        await backoff();
      }
    };
    await Promise.all(Array.from({ length: writers }, (_, n) => patch(n)));
    const { body } = await send(1, "GET", `${configMaps}/keys`);
    assert.equal(Object.keys(body.data).length, writers);
  });

  it("creates of one name: exactly one succeeds", async () => {
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "one" } };
    const attempts = Array.from({ length: 60 }, (_, n) => send(n, "POST", configMaps, object));
    const codes = (await Promise.all(attempts)).map(({ status }) => status);
    assert.equal(codes.filter((code) => code === 201).length, 1);
    assert.equal(codes.filter((code) => code === 409).length, 59);
  });
});

/** As clients do after a conflict, so that not all of them try again at once. */
function backoff(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.random() * 500));
}
