/**
 * `npm run bench:fairness [-- --part=cost,elephant,cluster,overload] [--seconds=20] [--rounds=20]
 * [--clients=500] [--objects=10000] [--impolite] [--url=… --token=…]`
 *
 * Costs and effects of API Priority and Fairness:
 *
 *   cost      CPU time of the server per GET, with and without it, in turns (needs h2load)
 *   elephant  500 clients of one user list 10,000 objects, while another user sends 20 GETs and 5
 *             creates per second: latencies with and without the 500, also of a Lease and of /readyz
 *   cluster   the same with three replicas on etcd
 *   overload  lists at ten times the server's capacity: memory, goodput, longest wait
 *
 * With --url, elephant and overload run against another Kubernetes API server; the token must belong
 * to a member of system:masters, who impersonates the users. Compare ratios: the clients share
 * the machine with the server.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { startEtcd } from "../../pkg/storage/etcd/testing.ts";
import { root } from "../tidy/source.ts";
import { type Aim, configMap, Connection } from "./load/client.ts";
import { type Latency, type MouseFigures, prepareMouse, runMouse } from "./fairness/mouse.ts";
import { overload, peakGoodput } from "./fairness/overload.ts";
import { type Load, loadCalls, usesH2load } from "./load/load.ts";
import { fill, keelsonPaths } from "./load/measure.ts";
import {
  cpuOf,
  quantile,
  residentMib,
  type ServerProcess,
  startServerProcess,
} from "./load/processes.ts";

const { values: options } = parseArgs({
  options: {
    part: { type: "string", default: "cost,elephant,cluster,overload" },
    seconds: { type: "string", default: "20" },
    rounds: { type: "string", default: "20" },
    clients: { type: "string", default: "500" },
    objects: { type: "string", default: "10000" },
    impolite: { type: "boolean", default: false },
    url: { type: "string" },
    token: { type: "string", default: "" },
  },
});
const seconds = Number(options.seconds);
const admin = "bench-admin";
const users = ["elephant", "mouse", "ada", "system:kube-controller-manager"];
/** Members of this group may do everything. */
const benchGroup = "bench";
const folder = mkdtempSync(path.join(tmpdir(), "keelson-fairness-"));
const children: ChildProcess[] = [];

/** A server under test. */
interface Subject {
  readonly urls: readonly string[];
  readonly token: string;
  readonly processes: readonly ServerProcess[];
}

function adminOf({ urls, token }: Subject): Aim {
  return { url: urls[0]!, token };
}

/**
 * Targets for requests of a user to all servers. The user is impersonated, which works with any
 * server.
 */
function aimsOf({ urls, token }: Subject, user: string, group = "bench-users"): readonly Aim[] {
  const headers = { "impersonate-user": user, "impersonate-group": group };
  return urls.map((url) => ({ url, token, headers }));
}

async function startServers(count: number, flags: readonly string[]): Promise<Subject> {
  const tokens = path.join(folder, "tokens.csv");
  writeFileSync(tokens, `${admin},admin,admin,"system:masters"\nuser,ada,ada,devs\n`);
  const processes: ServerProcess[] = [];
  for (let index = 0; index < count; index++) {
    const own = [`--data-dir=${path.join(folder, `server-${children.length}`)}`];
    const started = await startServerProcess([...own, `--token-auth-file=${tokens}`, ...flags]);
    children.push(started.child);
    processes.push(started);
  }
  return { urls: processes.map(({ url }) => url), token: admin, processes };
}

/** Allows the users everything, without exempting them from flow control. */
async function authorize(subject: Subject): Promise<void> {
  const connection = new Connection(adminOf(subject));
  const binding = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: "bench-fairness" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    subjects: [
      ...users.map((name) => ({ kind: "User", name })),
      { kind: "Group", name: benchGroup },
    ],
  };
  const body = Buffer.from(JSON.stringify(binding));
  const url = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
  await connection.call("POST", url, { body });
  connection.close();
}

function stop(subject: Subject): void {
  for (const { child } of subject.processes) {
    child.removeAllListeners("exit");
    child.kill();
  }
}

/** Measures the CPU time per GET of a user who is not exempt. */
async function cost(): Promise<void> {
  if (!usesH2load) return console.log("cost: skipped, h2load was not found");
  const flag = "--enable-priority-and-fairness";
  const memory = "--storage-backend=memory";
  const subjects = [
    await startServers(1, [memory, `${flag}=false`]),
    await startServers(1, [memory, `${flag}=true`]),
  ] as const;
  const collection = "/api/v1/namespaces/default/configmaps";
  const load: Load = {
    path: `${collection}/one`,
    connections: 4,
    // Fewer than the seats of the level: no request waits.
    inFlight: 16,
    accept: "application/json",
  };
  const calls = 20_000;
  const costs: readonly [number[], number[]] = [[], []];
  const aims = subjects.map(({ urls }) => ({ url: urls[0]!, token: "user" }));
  for (const [index, subject] of subjects.entries()) {
    await authorize(subject);
    const connection = new Connection(adminOf(subject));
    await connection.call("POST", collection, { body: configMap({ name: "one" }) });
    connection.close();
    await loadCalls(aims[index]!, load, 2 * calls);
  }
  for (let round = 0; round < Number(options.rounds); round++) {
    for (const which of round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
      const [server] = subjects[which].processes;
      const before = cpuOf(server!);
      await loadCalls(aims[which]!, load, calls);
      costs[which].push((cpuOf(server!) - before) / calls);
    }
  }
  for (const share of [0, 0.25, 0.5]) {
    const [off, on] = [quantile(costs[0], share), quantile(costs[1], share)];
    const figures = `off ${off.toFixed(1)} µs, on ${on.toFixed(1)} µs`;
    console.log(`cost: CPU per GET, quantile ${share}: ${figures}, ratio ${(on / off).toFixed(3)}`);
  }
  for (const subject of subjects) stop(subject);
}

async function elephantAndMouse(title: string, subject: Subject): Promise<void> {
  await authorize(subject);
  await fill(adminOf(subject), Number(options.objects));
  await prepareMouse(adminOf(subject));
  const aims = {
    mouse: aimsOf(subject, "mouse"),
    leader: aimsOf(subject, "system:kube-controller-manager"),
    prober: subject.urls.map((url) => ({ url, token: subject.token, headers: {} })),
  };
  await runMouse(aims, 3);
  const alone = await runMouse(aims, seconds);
  const elephant = await startElephant(aimsOf(subject, "elephant"));
  await runMouse(aims, 3);
  const beside = await runMouse(aims, seconds);
  const counts = await elephant();
  console.log(`${title}: ${options.clients} clients got ${counts} in ${seconds + 3} s`);
  for (const what of ["get", "create", "renew", "ready"] as const) {
    latencyRow(title, what, alone, beside);
  }
}

function latencyRow(
  title: string,
  what: keyof MouseFigures,
  alone: MouseFigures,
  beside: MouseFigures,
): void {
  const show = ({ count, p50, p99, longest, failures }: Latency) =>
    `p50 ${p50.toFixed(1)} p99 ${p99.toFixed(1)} max ${longest.toFixed(0)} ms, ` +
    `${failures} of ${count} failed`;
  const ratio = beside[what].p99 / alone[what].p99;
  console.log(`${title}: ${what} alone: ${show(alone[what])}`);
  console.log(`${title}: ${what} beside: ${show(beside[what])}; p99 ratio ${ratio.toFixed(1)}`);
}

/**
 * Starts the elephant; returns a function that stops it and resolves with its responses by status.
 */
async function startElephant(aims: readonly Aim[]): Promise<() => Promise<string>> {
  const program = path.join(root, "test/bench/fairness/elephant.ts");
  const words = [options.clients, keelsonPaths.list, String(!options.impolite)];
  const texts = aims.map((aim) => JSON.stringify(aim));
  const node = ["--conditions=source", "--import=tsx", program, ...words, ...texts];
  const child = spawn(process.execPath, node, { stdio: ["pipe", "pipe", "inherit"] });
  children.push(child);
  await once(child.stdout, "data");
  return async () => {
    child.stdin.end();
    const [chunk] = (await once(child.stdout, "data")) as [Buffer];
    return chunk.toString().trim();
  };
}

async function overloaded(subject: Subject): Promise<void> {
  const [server] = subject.processes;
  await authorize(subject);
  await fill(adminOf(subject), Number(options.objects));
  const names = Array.from({ length: 20 }, (_, index) => `user-${index}`);
  const aims = names.flatMap((name) => aimsOf(subject, name, benchGroup));
  const target = { aims, path: keelsonPaths.list };
  await peakGoodput({ ...target, seconds: 3 });
  const peak = await peakGoodput({ ...target, seconds: Math.min(10, seconds) });
  const memory = () => (server === undefined ? 0 : residentMib(server));
  const before = memory();
  const figures = await overload({
    ...target,
    // A request may wait for a quarter of its deadline of ten seconds.
    path: `${target.path}?timeout=10s`,
    seconds,
    perSecond: 10 * peak,
    connections: 100,
    memory,
  });
  const { goodput, statuses, longestMs } = figures;
  const most = Math.max(...figures.memory);
  console.log(
    `overload: peak ${peak.toFixed(1)}/s, goodput at 10x ${goodput.toFixed(1)}/s, ` +
      `ratio ${(goodput / peak).toFixed(2)}; responses ${JSON.stringify(statuses)}`,
  );
  console.log(
    `overload: longest ${longestMs.toFixed(0)} ms of 10,000 ms; memory ${before.toFixed(0)} MiB ` +
      `before, ${most.toFixed(0)} MiB at most`,
  );
}

async function main(): Promise<void> {
  const parts = options.part.split(",");
  const { url, token } = options;
  if (url !== undefined) {
    const subject = { urls: [url], token, processes: [] };
    if (parts.includes("elephant")) await elephantAndMouse("elephant", subject);
    if (parts.includes("overload")) await overloaded(subject);
    return;
  }
  if (parts.includes("cost")) await cost();
  const memory = ["--storage-backend=memory"];
  if (parts.includes("elephant")) {
    const subject = await startServers(1, memory);
    await elephantAndMouse("one process", subject);
    stop(subject);
  }
  if (parts.includes("cluster")) {
    await using etcd = await startEtcd();
    const flags = ["--storage-backend=etcd3", `--etcd-servers=${etcd.endpoints[0]}`];
    const subject = await startServers(3, flags);
    await elephantAndMouse("three replicas", subject);
    stop(subject);
  }
  if (parts.includes("overload")) {
    const subject = await startServers(1, memory);
    await overloaded(subject);
    stop(subject);
  }
}

try {
  await main();
} finally {
  for (const child of children) {
    child.removeAllListeners("exit");
    child.kill();
  }
  rmSync(folder, { recursive: true, force: true });
}
