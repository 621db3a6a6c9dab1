/** A whole cluster as local processes, while parts of it are killed and restarted. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { setMaxListeners } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { seededRandom } from "#base";
import type { Client } from "#client";
import { type Cluster, startCluster } from "../../pkg/controlplane/cluster/cluster.ts";
import type { LocalProcess } from "../../pkg/controlplane/cluster/local-process.ts";
import { root } from "../tidy/source.ts";
import { leases, managerLease } from "./elections.ts";
import type { Operation } from "./history.ts";
import { balanced, runModel } from "./model.ts";
import { namespace, pause, runTraffic } from "./traffic.ts";
import { startWorld, type World } from "./world.ts";

const graceMs = 15_000;

describe("a cluster on this host", function () {
  let world: World;
  let cluster: Cluster;
  let client: Client;
  let directory: string;
  const life = new AbortController();

  before(async function () {
    setMaxListeners(0, life.signal);
    if (["etcd", "haproxy"].some((name) => spawnSync(name, ["--help"]).error)) this.skip();
    directory = mkdtempSync(path.join(tmpdir(), "keelson-cluster-"));
    world = await startWorld({
      directory,
      port: 0,
      apiserverFlags: ["--etcd-compaction-interval=10s", "--shutdown-delay-duration=1500ms"],
      managerFlags: [
        "--leader-elect-lease-duration=4s",
        "--leader-elect-renew-deadline=3s",
        "--leader-elect-retry-period=500ms",
      ],
    });
    cluster = world.cluster;
    client = balanced(cluster, life.signal, { retry: true });
  });
  after(async () => {
    life.abort();
    await world?.close();
    if (directory) rmSync(directory, { recursive: true, force: true });
  });

  const logOf = (name: string) => readFileSync(path.join(directory, "log", `${name}.log`), "utf8");

  it("stops its processes when it is interrupted before it is ready", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "keelson-cluster-"));
    try {
      const signal = AbortSignal.timeout(500);
      const start = startCluster({ directory: folder, port: 0, signal });
      await assert.rejects(start, (error) => error === signal.reason);
      assert.notEqual(spawnSync("pgrep", ["-f", folder]).status, 0);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it("is linearizable to clients while processes are killed and partitioned", async () => {
    const { violations, changes, faults } = await runModel({ world, seconds: 12, seed: 7 });
    assert.deepEqual(violations, []);
    assert.ok(changes > 50 && faults > 1, `${changes} changes and ${faults} faults prove little`);
  });

  it("fails no request during a rolling restart of the servers", async () => {
    const traffic = new AbortController();
    const failures: string[] = [];
    const history: Operation[] = [];
    const working = Array.from({ length: 8 }, (_, worker) =>
      runTraffic({
        client: balanced(cluster, life.signal, { retry: true }),
        random: seededRandom(worker),
        worker: 100 + worker,
        signal: traffic.signal,
        history,
        failures,
      }),
    );
    try {
      for (const server of cluster.servers) {
        await server.stop(graceMs);
        await server.start();
      }
    } finally {
      traffic.abort();
      await Promise.all(working);
    }
    assert.deepEqual(failures, []);
    assert.ok(history.length > 100, `only ${history.length} operations`);
  });

  it("elects another controller manager when the leader is killed", async () => {
    const holder = async () => (await client.get(leases, managerLease)).spec.holderIdentity ?? "";
    // The leader logs its election once, the others log the leader.
    const { before, leader } = await eventually(async () => {
      const before = await holder();
      const lines = new RegExp(`^keelson: (leading|${before} leads)$`, "m");
      const said = ({ name }: LocalProcess) => lines.exec(lastLines(logOf(name)))?.[1];
      const follower = cluster.managers.find((each) => said(each) === `${before} leads`);
      const leader = cluster.managers.find((each) => each !== follower);
      assert.ok(follower !== undefined && leader !== undefined, `no follower of "${before}"`);
      return { before, leader };
    });
    await leader.kill();
    await eventually(async () => assert.notEqual(await holder(), before));
    await client.create(
      { group: "", version: "v1", plural: "namespaces", kind: "Namespace", namespaced: false },
      { metadata: { name: "led" } },
    );
    const account = { group: "", version: "v1", plural: "serviceaccounts" } as const;
    await eventually(() =>
      client.get(
        { ...account, kind: "ServiceAccount", namespaced: true },
        { namespace: "led", name: "default" },
      ),
    );
  });

  it("is scraped by Prometheus, and every panel of the dashboard has data", async function () {
    const { prometheus } = cluster;
    if (prometheus === undefined) return this.skip();
    const ask = async (query: string): Promise<readonly unknown[]> => {
      const url = `${prometheus.url}/api/v1/query?${new URLSearchParams({ query })}`;
      const { data } = (await (await fetch(url)).json()) as any;
      return data?.result ?? [];
    };
    await eventually(async () => {
      const [down] = await ask("up == 0");
      const logs = cluster.managers.map(({ name, pid }) => `${pid}: ${logOf(name).slice(-1500)}`);
      assert.equal(down, undefined, [JSON.stringify(down), ...logs].join("\n"));
      assert.equal((await ask("up")).length, 8);
    });
    const file = path.join(root, "deploy/grafana/dashboards/keelson.json");
    const { panels } = JSON.parse(readFileSync(file, "utf8"));
    for (const { title, targets = [] } of panels) {
      // Rows have no targets; panels of errors and rejections have no data in a healthy cluster.
      if (/^(?:Errors|Rejections)\b/.test(title)) continue;
      for (const { expr } of targets) {
        await eventually(async () => assert.ok((await ask(expr)).length > 0, `${title}: ${expr}`));
      }
    }
  });

  it("deletes namespaces with their content", async () => {
    const things = { group: "", version: "v1", plural: "namespaces", kind: "Namespace" };
    const handle = { ...things, namespaced: false };
    await client.delete(handle, { name: namespace });
    await eventually(async () => {
      const { items } = await client.list(handle);
      assert.ok(!items.some(({ metadata }) => metadata.name === namespace));
    });
  });
});

/** The lines of a log, latest first. */
function lastLines(log: string): string {
  return log.split("\n").reverse().join("\n");
}

async function eventually<T>(attempt: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + 120_000;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await pause(300);
    }
  }
}
