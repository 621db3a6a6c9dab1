/**
 * `npm run bench [-- --backend=memory|embedded|etcd] [--objects=10000] [--seconds=2] [--rounds=3]
 * [--workers=1] [--only=create,read,watch] [--url=… --token=…]`
 *
 * Figures of a server and of the floor of this machine, a bare node:http2 server under the same load.
 * They run in turns, and the best round of each counts, because other load on the machine varies.
 * Requests come from h2load if it is installed (Debian: nghttp2-client), else from Node, whose client
 * is no faster than a server, so that all rates are lower. With --url the same load goes to another
 * Kubernetes API server.
 *
 * `npm run bench -- --compare=URL --token=… [--ca=FILE|--insecure] [--compare-pid=PID]
 * [--backend=memory|etcd] [--only=GET,create] [--rounds=3] [--seconds=2] [--calls=2000]`
 *
 * Prints a table of Keelson and another API server under the same reads, writes and watches, one
 * at a time and in turns: medians of the rounds and their ratios. It writes to new
 * namespaces and deletes them afterwards; use a cluster without nodes, whose controllers would otherwise
 * run the pods. Instead of a URL it takes the path of a kube-apiserver, which it starts with an
 * etcd. A `*` marks figures that the load generator limits. `--only` takes prefixes of row names.
 *
 * `npm run bench:scale` shows how costs grow.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { createAuthority, issueCertificate } from "#pki";
import { type EtcdCluster, startEtcd } from "../../pkg/storage/etcd/testing.ts";
import { root } from "../tidy/source.ts";
import type { Aim } from "./load/client.ts";
import { compare } from "./compare/index.ts";
import { exitOnSignals } from "./load/servers.ts";
import { usesH2load } from "./load/load.ts";
import {
  creates,
  etcdWatch,
  type FanOut,
  fanOut,
  fill,
  floorPaths,
  keelsonPaths,
  readRate,
  reads,
  transactions,
} from "./load/measure.ts";

const { values: options } = parseArgs({
  options: {
    backend: { type: "string", default: "memory" },
    objects: { type: "string", default: "10000" },
    seconds: { type: "string", default: "2" },
    rounds: { type: "string", default: "3" },
    watchers: { type: "string", default: "1,100,500" },
    url: { type: "string" },
    token: { type: "string" },
    workers: { type: "string", default: "1" },
    compare: { type: "string" },
    "compare-pid": { type: "string" },
    ca: { type: "string" },
    insecure: { type: "boolean", default: false },
    calls: { type: "string", default: "2000" },
    only: { type: "string", default: "" },
  },
});
const seconds = Number(options.seconds);
const objects = Number(options.objects);
const folder = mkdtempSync(path.join(tmpdir(), "keelson-bench-"));
const children: ChildProcess[] = [];
let etcd: EtcdCluster | undefined;

/** Starts a program and resolves with the match of the first matching line. */
function startChild(words: readonly string[], ready: RegExp): Promise<readonly [number, string]> {
  const start = performance.now();
  const child = spawn(words[0] as string, words.slice(1), {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.push(child);
  return new Promise((resolve, reject) => {
    let text = "";
    const read = (chunk: Buffer) => {
      text += chunk.toString();
      const match = ready.exec(text);
      if (match) resolve([performance.now() - start, match[1] ?? ""]);
    };
    child.stdout?.on("data", read);
    child.stderr?.on("data", read);
    child.on("exit", (code) => reject(new Error(`${words.join(" ")} ended with ${code}: ${text}`)));
  });
}

async function startFloor(): Promise<Aim> {
  const now = Date.now();
  const authority = await createAuthority("bench", { validDays: 1, now });
  const serving = await issueCertificate(authority, {
    commonName: "bench",
    hosts: ["127.0.0.1"],
    usage: "server",
    validDays: 1,
    now,
  });
  const files = { key: path.join(folder, "key.pem"), certificate: path.join(folder, "cert.pem") };
  writeFileSync(files.key, serving.privateKey);
  writeFileSync(files.certificate, serving.certificate);
  const program = path.join(root, "test/bench/load/floor-server.ts");
  const words = [process.execPath, "--import=tsx", program, files.key, files.certificate];
  const [, port] = await startChild(words, /(\d+)\n/);
  return { url: `https://127.0.0.1:${port}`, token: "" };
}

async function startKeelson(): Promise<Aim> {
  const token = "bench-token";
  const tokens = path.join(folder, "tokens.csv");
  writeFileSync(tokens, `${token},bench,bench,"system:masters"\n`);
  const storage = await storageFlags();
  const words = [
    process.execPath,
    "dist/keelson.js",
    "apiserver",
    "--secure-port=0",
    "--bind-address=127.0.0.1",
  ];
  const [ms, url] = await startChild(
    [
      ...words,
      `--workers=${options.workers}`,
      `--data-dir=${folder}`,
      `--token-auth-file=${tokens}`,
      ...storage,
    ],
    /(https:\/\/127\.0\.0\.1:\d+)/,
  );
  row("start-up, first (makes certificates)", `${ms.toFixed(0)} ms`);
  return { url, token };
}

async function storageFlags(): Promise<readonly string[]> {
  if (options.backend !== "etcd") return [`--storage-backend=${options.backend}`];
  etcd = await startEtcd();
  return ["--storage-backend=etcd3", `--etcd-servers=${etcd.endpoints[0]}`];
}

function row(name: string, figure: string, floor = "", ratio = ""): void {
  console.log(
    `${name.padEnd(44)} ${figure.padStart(16)} ${floor.padStart(14)} ${ratio.padStart(7)}`,
  );
}

function rateRow(name: string, figure: number, floor: number): void {
  const show = (value: number) => `${value.toFixed(value < 100 ? 1 : 0)}/s`;
  row(name, show(figure), show(floor), (figure / floor).toFixed(2));
}

function residentMb(): string {
  const pid = children.at(-1)?.pid;
  const [, kb] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return `${(Number(kb) / 1024).toFixed(0)} MB`;
}

const readNames: Readonly<Record<keyof typeof reads, string>> = {
  get: "GET, consistent, 64 in flight",
  getCached: "GET, resourceVersion=0",
  page: "LIST limit=500 (668 KB)",
  list: `LIST of ${objects} (13.4 MB), JSON`,
  listProtobuf: `LIST of ${objects}, Protobuf`,
};

async function compareWith(target: string): Promise<void> {
  exitOnSignals();
  const { backend, ca, insecure, only, rounds, token = "", watchers, "compare-pid": pid } = options;
  if (backend !== "memory" && backend !== "etcd") throw new Error(`--backend=${backend}`);
  console.log(`Node ${process.version}; requests come from ${usesH2load ? "h2load and " : ""}Node`);
  await compare({
    compare: target,
    comparePid: pid === undefined ? undefined : Number(pid),
    token,
    ca,
    insecure,
    backend,
    folder,
    objects,
    seconds,
    rounds: Number(rounds),
    calls: Number(options.calls),
    watchers: watchers.split(",").map(Number),
    only: only === "" ? [] : only.split(/,(?! )/),
  });
}

async function main(): Promise<void> {
  if (options.compare !== undefined) return compareWith(options.compare);
  const floor = await startFloor();
  const own = options.url === undefined;
  const aim = own
    ? await startKeelson()
    : { url: options.url as string, token: options.token ?? "" };
  console.log(`Node ${process.version}`);
  console.log(`requests come from ${usesH2load ? "h2load" : "Node, for lack of h2load"}`);
  row(own ? `keelson on ${options.backend}` : (options.url as string), "figure", "floor", "ratio");
  if (own) row("resident memory at start", residentMb());
  await fill(aim, objects);
  if (own) row(`resident memory with ${objects} objects`, residentMb());
  const { only } = options;
  const wants = (name: string): boolean => only === "" || only.split(",").includes(name);
  if (wants("create")) await compareCreates(aim, floor);
  if (wants("read")) await compareReads(aim, floor);
  if (wants("watch")) await compareWatches(aim, floor);
}

async function compareWatches(aim: Aim, floor: Aim): Promise<void> {
  for (const watchers of String(options.watchers).split(",").map(Number)) {
    const load = { watchers, writers: 8, seconds };
    const [own, bare] = await inTurn(
      () => fanOut(aim, keelsonPaths, load),
      () => fanOut(floor, floorPaths, load),
    );
    fanOutRow(watchers, bestFanOut(own), bestFanOut(bare));
    if (watchers === 1) await compareWithEtcd(load);
  }
}

/** Latency of etcd alone from a write to its event, in the same run. */
async function compareWithEtcd(load: Parameters<typeof etcdWatch>[1]): Promise<void> {
  const [endpoint] = etcd?.endpoints ?? [];
  if (endpoint === undefined) return;
  const rounds: FanOut[] = [];
  for (let round = 0; round < Number(options.rounds); round++) {
    rounds.push(await etcdWatch(endpoint, load));
  }
  const floor = bestFanOut(rounds);
  row("  a watch of etcd itself: events", `${floor.events.toFixed(0)}/s`);
  row("  from write to delivery, p50 and p99", latenciesOf(floor));
}

/** Runs the rounds of both in turns. */
async function inTurn<T>(
  one: () => Promise<T>,
  other: () => Promise<T>,
): Promise<readonly [readonly T[], readonly T[]]> {
  const rounds: readonly [T[], T[]] = [[], []];
  for (let round = 0; round < Number(options.rounds); round++) {
    rounds[0].push(await one());
    rounds[1].push(await other());
  }
  return rounds;
}

async function compareCreates(aim: Aim, floor: Aim): Promise<void> {
  const own = () => creates(aim, keelsonPaths, seconds);
  const [figures, floors] = await inTurn(own, () => creates(floor, floorPaths, seconds));
  rateRow("create, 32 in flight", Math.max(...figures), Math.max(...floors));
  const [endpoint] = etcd?.endpoints ?? [];
  if (endpoint === undefined) return;
  const [again, bare] = await inTurn(own, () => transactions(endpoint, seconds));
  rateRow("  beside bare transactions of etcd", Math.max(...again), Math.max(...bare));
}

async function compareReads(aim: Aim, floor: Aim): Promise<void> {
  for (const what of Object.keys(readNames) as (keyof typeof reads)[]) {
    const [figures, floors] = await inTurn(
      () => readRate(aim, { paths: keelsonPaths, what }, seconds),
      () => readRate(floor, { paths: floorPaths, what }, seconds),
    );
    rateRow(readNames[what], Math.max(...figures), Math.max(...floors));
  }
}

function bestFanOut(rounds: readonly FanOut[]): FanOut {
  const least = (of: (round: FanOut) => number): number => Math.min(...rounds.map(of));
  const events = Math.max(...rounds.map((round) => round.events));
  return { events, p50: least(({ p50 }) => p50), p99: least(({ p99 }) => p99) };
}

function fanOutRow(watchers: number, figure: FanOut, floor: FanOut): void {
  rateRow(`watch, ${watchers} watchers, 8 writers: events`, figure.events, floor.events);
  row("  from write to delivery, p50 and p99", latenciesOf(figure));
}

function latenciesOf({ p50, p99 }: FanOut): string {
  return `${p50.toFixed(1)} ${p99.toFixed(1)} ms`;
}

try {
  await main();
} finally {
  for (const child of children) child.removeAllListeners("exit").kill("SIGTERM");
  await etcd?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
}
