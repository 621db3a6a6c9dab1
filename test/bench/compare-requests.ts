/**
 * Compares two builds: CPU time of the server process per GET, create, LIST (of 100), update and
 * patch of ConfigMaps of 1 KB, 64 at a time over 4 connections. Both servers run all the time and
 * are measured in turns, so that other load on the machine affects both. GET, create and LIST need
 * h2load (Debian: nghttp2-client); updates and patches, each of which changes its object, come from
 * Node.
 *
 *     node --conditions=source --import=tsx test/bench/compare-requests.ts <A> <B> [rounds]
 *       [--nodes=<node of A>,<node of B>] [--backend=memory|etcd]
 *       [--only=GET,create,LIST,update,patch,apply]
 *
 * A and B are directories of clones in which `node scripts/build.mjs` has run; with --nodes they may
 * be the same, to compare two versions of Node. Compare in both orders: with the same build on both
 * sides, B has taken 10 to 20 % less than A.
 */
import fs from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { type EtcdCluster, startEtcd } from "../../pkg/storage/etcd/testing.ts";
import { type Aim, configMap, Connection } from "./load/client.ts";
import { type Load, loadCalls } from "./load/load.ts";
import { cpuOf, quantile, type ServerProcess, startServerProcess } from "./load/processes.ts";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    backend: { type: "string", default: "memory" },
    nodes: { type: "string", default: "" },
    only: { type: "string", default: "GET,create,LIST,update,patch,apply" },
  },
});
const [first, second, rounds = "30"] = positionals;
if (first === undefined || second === undefined) throw new Error("two directories are needed");

const collection = "/api/v1/namespaces/default/configmaps";
const listed = "/api/v1/namespaces/lists/configmaps";
const connections = 4;
const inFlight = 64;

interface Measured {
  readonly calls: number;
  readonly run: (aim: Aim, calls: number) => Promise<void>;
}

function h2load(load: Pick<Load, "path" | "body">, calls: number): Measured {
  const common = { connections, inFlight, accept: "application/json" };
  return { calls, run: (aim, count) => loadCalls(aim, { ...common, ...load }, count) };
}

const payload = (n: number): string => `${n}-`.padEnd(1000, "x");
const written = (n: number): string => `written-${n % inFlight}`;
let changes = 0;

/** Calls that each change an object; every worker has its own object. */
function changing(
  method: "PUT" | "PATCH",
  contentType: string,
  bodyOf: (worker: number, change: number) => Buffer,
): Measured {
  const run = async (aim: Aim, calls: number): Promise<void> => {
    const sessions = Array.from({ length: connections }, () => new Connection(aim));
    let left = calls;
    const work = async (_each: unknown, worker: number): Promise<void> => {
      while (left-- > 0) {
        const body = bodyOf(worker, changes++);
        const url = `${collection}/${written(worker)}${query(contentType)}`;
        const session = sessions[worker % connections]!;
        const { status, body: text } = await session.call(method, url, { body, contentType });
        if (status !== 200) throw new Error(`${status}: ${text.toString()}`);
      }
    };
    try {
      await Promise.all(Array.from({ length: inFlight }, work));
    } finally {
      for (const session of sessions) session.close();
    }
  };
  return { calls: 1_500, run };
}

const query = (contentType: string): string =>
  contentType.includes("apply") ? "?fieldManager=bench&force=true" : "";

const merge = (_worker: number, n: number): Buffer =>
  Buffer.from(JSON.stringify({ data: { payload: payload(n) } }));
const whole = (worker: number, n: number): Buffer =>
  configMap({ name: written(worker) }, payload(n));

const all: Readonly<Record<string, Measured>> = {
  GET: h2load({ path: `${collection}/one` }, 6_000),
  create: h2load({ path: collection, body: configMap({ generateName: "c-" }) }, 1_500),
  LIST: h2load({ path: listed }, 800),
  update: changing("PUT", "application/json", whole),
  patch: changing("PATCH", "application/merge-patch+json", merge),
  apply: changing("PATCH", "application/apply-patch+yaml", whole),
};
const chosen = options.only.split(",").map((name) => [name, all[name]!] as const);

interface Build extends ServerProcess {
  readonly aim: Aim;
  readonly etcd: EtcdCluster | undefined;
}

const scratch = fs.mkdtempSync(path.join(tmpdir(), "compare-requests-"));
const tokens = path.join(scratch, "tokens.csv");
fs.writeFileSync(tokens, 'secret,bench,bench,"system:masters"\n');

const [firstNode = process.execPath, secondNode = process.execPath] = options.nodes
  .split(",")
  .filter((node) => node !== "");

interface Started {
  readonly directory: string;
  readonly node: string;
  readonly name: string;
}

async function start({ directory, node, name }: Started): Promise<Build> {
  const etcd = options.backend === "etcd" ? await startEtcd() : undefined;
  const storage =
    etcd === undefined
      ? ["--storage-backend=memory"]
      : ["--storage-backend=etcd3", `--etcd-servers=${etcd.endpoints[0]}`];
  const flags = [
    ...storage,
    `--data-dir=${path.join(scratch, name)}`,
    `--token-auth-file=${tokens}`,
  ];
  const started = await startServerProcess(flags, directory, node);
  return { ...started, etcd, aim: { url: started.url, token: "secret" } };
}

async function call(aim: Aim, url: string, body: Buffer): Promise<void> {
  const connection = new Connection(aim);
  const { status, body: text } = await connection.call("POST", url, { body });
  connection.close();
  if (status !== 201) throw new Error(`${status}: ${text.toString()}`);
}

async function prepare(aim: Aim): Promise<void> {
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "lists" } };
  await call(aim, "/api/v1/namespaces", Buffer.from(JSON.stringify(namespace)));
  await call(aim, collection, configMap({ name: "one" }));
  for (let n = 0; n < 100; n++) await call(aim, listed, configMap({ name: `l-${n}` }));
  for (let n = 0; n < inFlight; n++) await call(aim, collection, configMap({ name: written(n) }));
  for (const [, { run, calls }] of chosen) await run(aim, calls);
}

const builds = [
  await start({ directory: first, node: firstNode, name: "a" }),
  await start({ directory: second, node: secondNode, name: "b" }),
] as const;
for (const { aim } of builds) await prepare(aim);

for (const [name, { run, calls }] of chosen) {
  const costs: readonly [number[], number[]] = [[], []];
  for (let round = 0; round < Number(rounds); round++) {
    for (const which of round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
      const before = cpuOf(builds[which]);
      await run(builds[which].aim, calls);
      costs[which].push((cpuOf(builds[which]) - before) / calls);
    }
  }
  for (const share of [0, 0.25, 0.5]) {
    const [a, b] = [quantile(costs[0], share), quantile(costs[1], share)];
    const ratio = (b / a).toFixed(3);
    console.log(
      `${name}, quantile ${share}: A ${a.toFixed(1)} µs, B ${b.toFixed(1)} µs, B/A ${ratio}`,
    );
  }
}

for (const { child, etcd } of builds) {
  child.removeAllListeners("exit");
  child.kill();
  await etcd?.[Symbol.asyncDispose]();
}
fs.rmSync(scratch, { recursive: true });
