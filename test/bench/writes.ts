/**
 * `npm run bench:writes`: CPU time of the server process and calls of etcd per write, and writes
 * per second, for each verb, over 4 connections with 32 calls in flight. With two directories,
 * which are clones in which `node scripts/build.mjs` has run, two builds are measured in turns.
 *
 *     npm run bench:writes -- [<A> [<B>]] [--backend=memory,etcd] [--only="apply, new,delete"]
 *       [--calls=1500] [--rounds=5] [--cold] [--list] [--profile=<directory>]
 *
 * `--cold` measures the first calls of a new process instead of warm ones. `--list` lists every
 * collection first, so that the watch caches are filled. `--profile` writes CPU profiles of the
 * servers.
 */
import fs from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { type EtcdCluster, startEtcd } from "../../pkg/storage/etcd/testing.ts";
import { root } from "../tidy/source.ts";
import { type Aim, Connection } from "./load/client.ts";
import { cpuOf, quantile, type ServerProcess, startServerProcess } from "./load/processes.ts";
import { fillCaches, prepareWriteLoads, type WriteLoad, writeLoads } from "./load/write-loads.ts";
import { inFlight, objectsOf, runWriteRound } from "./load/write-rounds.ts";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    backend: { type: "string", default: "memory,etcd" },
    only: { type: "string", default: "" },
    calls: { type: "string", default: "1500" },
    rounds: { type: "string", default: "5" },
    cold: { type: "boolean", default: false },
    list: { type: "boolean", default: false },
    profile: { type: "string" },
  },
});
const directories = positionals.length === 0 ? [root] : positionals;
const calls = Number(options.calls);
const rounds = options.cold ? 1 : Number(options.rounds);

const names = Object.keys(writeLoads);
const chosen = names.filter((name) => {
  return options.only === "" || options.only.split(/,(?! )/).includes(name);
});

interface Build extends ServerProcess {
  readonly aim: Aim;
  readonly etcd: EtcdCluster | undefined;
}

interface Cost {
  /** CPU time of the server per written object, in µs. */
  readonly cpu: number;
  readonly perSecond: number;
  /** Latency of the 99th of 100 calls, in ms. */
  readonly p99: number;
  /** Unary calls of etcd per written object. */
  readonly etcdCalls: number;
}

/** Unary calls that the etcd of a build has answered. */
async function etcdCallsOf({ etcd }: Build): Promise<number> {
  if (etcd === undefined) return 0;
  const text = await (await fetch(`${etcd.endpoints[0]}/metrics`)).text();
  const counted = text.matchAll(
    /^grpc_server_handled_total\{.*grpc_method="(?:Range|Txn)".*\} (\d+)$/gm,
  );
  return [...counted].reduce((sum, [, count]) => sum + Number(count), 0);
}

let objects = 0;

async function measure(build: Build, load: WriteLoad): Promise<Cost> {
  const firstCall = objects;
  objects += objectsOf(load, calls);
  let [callsBefore, cpuBefore, cpuAfter] = [0, 0, 0];
  const round = await runWriteRound(build.aim, load, {
    calls,
    prefix: "object",
    firstCall,
    onPrepared: async () => {
      callsBefore = await etcdCallsOf(build);
      cpuBefore = cpuOf(build);
    },
    onDone: () => (cpuAfter = cpuOf(build)),
  });
  return {
    cpu: (cpuAfter - cpuBefore) / round.objects,
    perSecond: round.objects / round.seconds,
    p99: quantile(round.latencies, 0.99),
    etcdCalls: ((await etcdCallsOf(build)) - callsBefore) / round.objects,
  };
}

const scratch = fs.mkdtempSync(path.join(tmpdir(), "keelson-writes-"));
const tokens = path.join(scratch, "tokens.csv");
fs.writeFileSync(tokens, 'secret,bench,bench,"system:masters"\n');

async function start(directory: string, backend: string, index: number): Promise<Build> {
  const etcd = backend === "etcd" ? await startEtcd() : undefined;
  const storage =
    etcd === undefined
      ? ["--storage-backend=memory"]
      : ["--storage-backend=etcd3", `--etcd-servers=${etcd.endpoints[0]}`];
  const data = path.join(scratch, `${backend}-${index}`);
  const flags = [...storage, `--data-dir=${data}`, `--token-auth-file=${tokens}`];
  const { profile } = options;
  const nodeFlags = profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}`];
  const at = path.resolve(directory);
  const started = await startServerProcess(flags, at, process.execPath, nodeFlags);
  return { ...started, etcd, aim: { url: started.url, token: "secret" } };
}

async function stop({ child, etcd }: Build): Promise<void> {
  child.removeAllListeners("exit");
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill();
  await ended;
  await etcd?.[Symbol.asyncDispose]();
}

const median = (values: readonly number[]): number => quantile(values, 0.5);

function print(name: string, costs: readonly (readonly Cost[])[]): void {
  const cells = costs.map((each) => {
    const cpu = median(each.map((cost) => cost.cpu)).toFixed(0);
    const perSecond = median(each.map((cost) => cost.perSecond)).toFixed(0);
    const p99 = median(each.map((cost) => cost.p99)).toFixed(0);
    const etcdCalls = median(each.map((cost) => cost.etcdCalls)).toFixed(2);
    const figures = `${cpu.padStart(7)} µs ${perSecond.padStart(6)}/s p99 ${p99.padStart(4)} ms`;
    return `${figures} ${etcdCalls} etcd calls`;
  });
  const [a = [], b = []] = costs.map((each) => each.map(({ cpu }) => cpu));
  const ratio = b.length === 0 ? "" : `  CPU B/A ${(median(b) / median(a)).toFixed(2)}`;
  console.log(`${name.padEnd(24)}${cells.join("  |")}${ratio}`);
}

/** One measurement of every build in turns; the order changes from round to round. */
async function measureBuilds(builds: readonly Build[], load: WriteLoad): Promise<Cost[][]> {
  const costs: Cost[][] = builds.map(() => []);
  const order = builds.map((_build, index) => index);
  if (!options.cold) for (const build of builds) await measure(build, load);
  for (let round = 0; round < rounds; round++) {
    for (const index of round % 2 === 0 ? order : order.toReversed()) {
      costs[index]!.push(await measure(builds[index]!, load));
    }
  }
  return costs;
}

async function startAll(backend: string): Promise<readonly Build[]> {
  const builds: Build[] = [];
  for (const [index, directory] of directories.entries()) {
    const build = await start(directory, backend, index);
    const connection = new Connection(build.aim);
    await prepareWriteLoads(connection);
    if (options.list) await fillCaches(connection);
    connection.close();
    builds.push(build);
  }
  return builds;
}

for (const backend of options.backend.split(",")) {
  console.log(`\n${backend}, Node ${process.version}, ${inFlight} calls in flight`);
  let builds = options.cold ? [] : await startAll(backend);
  for (const name of chosen) {
    if (options.cold) builds = await startAll(backend);
    print(name, await measureBuilds(builds, writeLoads[name]!));
    if (options.cold) await Promise.all(builds.map(stop));
  }
  if (!options.cold) await Promise.all(builds.map(stop));
}
fs.rmSync(scratch, { recursive: true });
