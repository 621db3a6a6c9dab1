/** Errors that clients receive when etcd's disk is full, and recovery afterwards. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { type EtcdCluster, startEtcd } from "../../../pkg/storage/etcd/testing.ts";
import type { RunningServer } from "../../../cmd/keelson/index.ts";

const collection = "/api/v1/namespaces/default/configmaps";

describe("a store without space", () => {
  let etcd: EtcdCluster;
  let server: RunningServer;

  before(async function () {
    if (["etcd", "etcdctl"].some((name) => spawnSync(name, ["--help"]).error)) this.skip();
    etcd = await startEtcd({ arguments: ["--quota-backend-bytes=4000000"] });
    // Loaded with the same loader as its later imports: mocha loads tests and their imports with another one.
    const { startServer } = await import("../../../cmd/keelson/index.ts");
    const storage = { kind: "etcd", endpoints: etcd.endpoints } as const;
    server = await startServer({ storage, controllers: false, report: () => undefined });
  });
  after(async () => {
    await server?.close();
    await etcd?.[Symbol.asyncDispose]();
  });

  interface Answer {
    readonly status: number;
    readonly body: any;
  }

  async function call(method: string, path: string, object?: object): Promise<Answer> {
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const body = object && { headers: { "content-type": type }, body: JSON.stringify(object) };
    const answer = await server.fetch(path, { method, ...body });
    const text = await answer.text();
    return { status: answer.status, body: text.startsWith("{") ? JSON.parse(text) : text };
  }

  const bigOne = (name: string) => ({ metadata: { name }, data: { a: "x".repeat(300_000) } });

  /** Writes until one fails; returns the error, and the objects written before it. */
  async function fill(): Promise<{ readonly refused: Answer; readonly written: string[] }> {
    const written: string[] = [];
    for (let index = 0; index < 40; index++) {
      const answer = await call("POST", collection, bigOne(`big-${index}`));
      if (answer.status !== 201) return { refused: answer, written };
      written.push(`big-${index}`);
    }
    return assert.fail("it was never full");
  }

  function etcdctl(...words: readonly string[]): string {
    const env = { PATH: process.env["PATH"], ETCDCTL_API: "3" };
    const all = [`--endpoints=${etcd.endpoints[0]}`, ...words];
    const { status, stdout, stderr } = spawnSync("etcdctl", all, { env, encoding: "utf8" });
    assert.equal(status, 0, stderr);
    return stdout;
  }

  it("rejects writes, serves reads and deletes, and accepts writes when there is space again", async () => {
    const { refused, written } = await fill();
    assert.equal(refused.status, 500);
    assert.deepEqual(refused.body, {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: "etcdserver: mvcc: database space exceeded",
      code: 500,
    });
    const [kept = "", ...others] = written;
    const patch = { data: { b: "1" } };
    assert.equal((await call("PATCH", `${collection}/${kept}`, patch)).status, 500);
    assert.equal((await call("GET", `${collection}/${kept}`)).status, 200);
    assert.equal((await call("GET", "/readyz")).status, 200);
    const { items } = (await call("GET", collection)).body;
    const found: string[] = items.map(({ metadata }: any) => metadata.name);
    assert.deepEqual(found.filter((name) => written.includes(name)).sort(), [...written].sort());
    for (const name of others) {
      assert.equal((await call("DELETE", `${collection}/${name}`)).status, 200);
    }
    const { resourceVersion } = (await call("GET", collection)).body.metadata;
    etcdctl("compact", "--physical", resourceVersion);
    etcdctl("defrag");
    etcdctl("alarm", "disarm");
    assert.equal((await call("POST", collection, bigOne("after"))).status, 201);
    assert.equal((await call("PATCH", `${collection}/${kept}`, patch)).status, 200);
  });
});
