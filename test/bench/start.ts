/**
 *     npm run bench:start -- [--builds=DIR,DIR] [--nodes=NODE,NODE] [--rounds=5]
 *       [--backend=memory|etcd] [--requests=100] [--objects=0,10000]
 *
 * Time from the start of the process to ready, CPU time and resident memory at that moment, of an
 * API server that generates its certificates and of one that reads them; the cost of its first and of
 * later requests; then `startServer()` and `fork()` in a process. Builds, which are directories with a
 * `dist`, and versions of Node are measured in turns.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { startEtcd } from "../../pkg/storage/etcd/testing.ts";
import { configMap, Connection } from "./load/client.ts";
import {
  cpuOf,
  mainThreadCpuOf,
  quantile,
  residentMib,
  type ServerProcess,
  startServerProcess,
} from "./load/processes.ts";
import type { Cost } from "./load/start-in-process.ts";

const { values: options } = parseArgs({
  options: {
    builds: { type: "string", default: "." },
    nodes: { type: "string", default: process.execPath },
    backend: { type: "string", default: "memory" },
    rounds: { type: "string", default: "5" },
    requests: { type: "string", default: "100" },
    objects: { type: "string", default: "0,10000" },
  },
});
const token = "bench";
const collection = "/api/v1/namespaces/default/configmaps";
/** Number of requests between the first and those that count as warm. */
const warmUp = 4_000;

interface Start {
  readonly ms: number;
  readonly cpuMs: number;
  readonly mib: number;
  /** CPU time of the main thread in ms of one of the first requests, and of one after many. */
  readonly first: number;
  readonly warm: number;
}

let sent = 0;

/** Creates, reads, merges and lists, one after another. CPU time of the main thread per request in ms. */
async function requests(
  server: ServerProcess,
  connection: Connection,
  count: number,
): Promise<number> {
  const before = mainThreadCpuOf(server);
  const contentType = "application/merge-patch+json";
  for (let n = 0; n < count; n += 4) {
    const name = `object-${sent++}`;
    const object = `${collection}/${name}`;
    const change = Buffer.from(JSON.stringify({ data: { name } }));
    const answers = [
      await connection.call("POST", collection, { body: configMap({ name }) }),
      await connection.call("GET", object),
      await connection.call("PATCH", object, { body: change, contentType }),
      await connection.call("GET", `${collection}?limit=5`),
    ];
    const failed = answers.find(({ status }) => status >= 400);
    if (failed !== undefined) throw new Error(failed.body.toString());
  }
  return (mainThreadCpuOf(server) - before) / 1_000 / count;
}

async function start(build: string, node: string, flags: readonly string[]): Promise<Start> {
  const began = performance.now();
  const server = await startServerProcess(flags, path.resolve(build), node);
  const measured = {
    ms: performance.now() - began,
    cpuMs: cpuOf(server) / 1_000,
    mib: residentMib(server),
  };
  const connection = new Connection({ url: server.url, token });
  const count = Number(options.requests);
  const firstCost = await requests(server, connection, count);
  await requests(server, connection, warmUp);
  const warm = await requests(server, connection, count * 5);
  connection.close();
  server.child.removeAllListeners("exit");
  const ended = new Promise((resolve) => server.child.once("exit", resolve));
  server.child.kill();
  await ended;
  return { ...measured, first: firstCost, warm };
}

function print(name: string, starts: readonly Start[]): void {
  const figures = (["ms", "cpuMs", "mib", "first", "warm"] as const).map((key) => {
    const values = starts.map((each) => each[key]);
    const digits = key === "first" || key === "warm" ? 2 : 0;
    const [least, median] = [Math.min(...values), quantile(values, 0.5)];
    return `${least.toFixed(digits)} (${median.toFixed(digits)})`.padStart(14);
  });
  console.log(`${name.padEnd(60)} ${figures.join(" ")}`);
}

function printInProcess(build: string, node: string): void {
  const program = path.join(import.meta.dirname, "load", "start-in-process.ts");
  const words = [...process.execArgv, program, build, "20", ...options.objects.split(",")];
  const costs = JSON.parse(execFileSync(node, words, { encoding: "utf8" })) as readonly Cost[];
  console.log(`${build} on ${node}, in process, minimum of 20`);
  for (const { name, ms, cpuMs } of costs) {
    console.log(`  ${name.padEnd(40)} ${ms.toFixed(1)} ms, ${cpuMs.toFixed(1)} ms of CPU`);
  }
}

const folder = mkdtempSync(path.join(tmpdir(), "keelson-start-"));
const etcd = options.backend === "etcd" ? await startEtcd() : undefined;
const storage = etcd
  ? ["--storage-backend=etcd3", `--etcd-servers=${etcd.endpoints[0]}`]
  : [`--storage-backend=${options.backend}`];
const tokens = path.join(folder, "tokens.csv");
writeFileSync(tokens, `${token},bench,1,"system:masters"\n`);
const variants = options.builds.split(",").flatMap((build) => {
  return options.nodes.split(",").map((node) => ({
    build,
    node,
    first: [] as Start[],
    again: [] as Start[],
  }));
});
try {
  for (let round = 0; round < Number(options.rounds); round++) {
    const order = round % 2 === 0 ? variants : variants.toReversed();
    for (const { build, node, first, again } of order) {
      const data = mkdtempSync(path.join(folder, "data-"));
      const pki = [`--data-dir=${data}`, `--cert-dir=${path.join(data, "pki")}`];
      const flags = [...storage, ...pki, `--token-auth-file=${tokens}`];
      first.push(await start(build, node, flags));
      again.push(await start(build, node, flags));
    }
  }
} finally {
  await etcd?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
}
console.log(`${options.backend}: minimum (median) of ${options.rounds} rounds`);
console.log(
  ["", "ready, ms", "CPU, ms", "MiB", `first ${options.requests}`, "warm: CPU ms"]
    .map((title, index) => (index === 0 ? title.padEnd(60) : title.padStart(14)))
    .join(" "),
);
for (const { build, node, first, again } of variants) {
  print(`${build} on ${node}, first start`, first);
  print(`${build} on ${node}, again`, again);
}
if (options.backend === "memory") {
  for (const { build, node } of variants) printInProcess(path.resolve(build), node);
}
