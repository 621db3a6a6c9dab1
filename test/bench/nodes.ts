/**
 * `npm run bench:nodes`: one `keelson nodes` process and an API server process in memory. Prints
 * the time of registration, pods per second to Running, memory of the `keelson nodes` process per
 * node and per pod, and what heartbeats alone cost.
 *
 * --nodes=500,1000    numbers of nodes, each measured with the number of pods at its position (500)
 * --pods=10000,20000  numbers of pods, evenly on all nodes; 0 = nodes only (20 per node)
 * --idle=20           seconds for which heartbeats are measured
 * --profile=DIRECTORY CPU profiles of the `keelson nodes` process
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";
import { root } from "../tidy/source.ts";
import { cpuOf, residentMib } from "./load/processes.ts";
import { Cluster } from "./scheduling/cluster.ts";
import { stop, writeKubeconfig } from "./scheduling/programs.ts";

const { values } = parseArgs({
  options: {
    nodes: { type: "string", default: "500" },
    pods: { type: "string", default: "" },
    idle: { type: "string", default: "20" },
    profile: { type: "string", default: "" },
  },
});
const idleSeconds = Number(values.idle);
const podsPerNode = 20;
const settleMs = 3_000;
const namespace = "default";
const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

/** Collects garbage and sends the size of the heap on request. */
const reporter = `
process.on("message", () => { gc(); process.send(process.memoryUsage().heapUsed); });
process.channel.unref();`;

interface Memory {
  readonly heapMib: number;
  readonly residentMib: number;
}

function startNodes(kubeconfig: string, count: number): ChildProcess {
  const profile = values.profile === "" ? [] : ["--cpu-prof", `--cpu-prof-dir=${values.profile}`];
  const preload = `--import=data:text/javascript,${encodeURIComponent(reporter)}`;
  const flags = [`--kubeconfig=${kubeconfig}`, `--count=${count}`, "--node-name-prefix=node-"];
  const rate = ["--kube-api-qps=100000", "--kube-api-burst=100000"];
  const words = ["--expose-gc", ...profile, preload, "dist/keelson.js", "nodes", ...flags, ...rate];
  return spawn(process.execPath, words, {
    cwd: root,
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
}

async function memoryOf(child: ChildProcess): Promise<Memory> {
  const answer = once(child, "message");
  child.send("memory");
  const [bytes] = await answer;
  return { heapMib: Number(bytes) / 2 ** 20, residentMib: residentMib({ child, url: "" }) };
}

async function until(isDone: () => Promise<boolean>): Promise<void> {
  while (!(await isDone())) await setTimeout(100);
}

async function countOf(cluster: Cluster, path: string): Promise<number> {
  const { items, metadata } = await cluster.send("GET", `${path}?limit=1`);
  return items.length + Number(metadata.remainingItemCount ?? 0);
}

/** Number of requests that the API server has completed, by verb and resource. */
async function requestsOf(cluster: Cluster): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  const lines = (await cluster.text("/metrics")).split("\n");
  for (const line of lines.filter((each) => each.startsWith("apiserver_request_total{"))) {
    const [, resource] = /resource="([^"]*)"/.exec(line) ?? [];
    const [, verb] = /verb="([^"]*)"/.exec(line) ?? [];
    const key = `${verb} ${resource}`;
    counts.set(key, (counts.get(key) ?? 0) + Number(line.slice(line.lastIndexOf(" "))));
  }
  return counts;
}

async function measureIdle(cluster: Cluster, child: ChildProcess): Promise<void> {
  await setTimeout(settleMs);
  const before = await requestsOf(cluster);
  const cpu = cpuOf({ child, url: "" });
  await setTimeout(idleSeconds * 1_000);
  const share = (cpuOf({ child, url: "" }) - cpu) / (idleSeconds * 10_000);
  const after = await requestsOf(cluster);
  const rates = [...after]
    .map(([key, count]) => [key, (count - (before.get(key) ?? 0)) / idleSeconds] as const)
    .filter(([key, rate]) => rate >= 0.2 && !key.startsWith("GET "));
  console.log(`  heartbeats: ${share.toFixed(1)} % of a core,`, Object.fromEntries(rates), "per s");
}

function perObject(before: Memory, after: Memory, count: number): string {
  const kib = (now: number, then: number) => (((now - then) * 1_024) / count).toFixed(1);
  const heap = kib(after.heapMib, before.heapMib);
  return `heap ${heap} KiB, resident ${kib(after.residentMib, before.residentMib)} KiB each`;
}

/** Creates pods and waits until all are Running. */
async function measurePods(
  cluster: Cluster,
  child: ChildProcess,
  { nodes, pods }: { readonly nodes: number; readonly pods: number },
): Promise<void> {
  const before = await memoryOf(child);
  const cpuSeconds = () => cpuOf({ child, url: "" }) / 1e6;
  const ownCpu = cpuSeconds();
  const serverCpu = cluster.cpuSeconds();
  const started = performance.now();
  const spec = { containers: [{ name: "app", image: "nginx" }] };
  await cluster.makePods(namespace, { spec }, { prefix: "pod", count: pods, nodes });
  const created = (performance.now() - started) / 1_000;
  const waiting = `/api/v1/pods?limit=1&fieldSelector=status.phase%21%3DRunning`;
  await until(async () => (await cluster.send("GET", waiting)).items.length === 0);
  const took = (performance.now() - started) / 1_000;
  const cpu = ((cpuSeconds() - ownCpu) * 1_000) / pods;
  const ofServer = ((cluster.cpuSeconds() - serverCpu) * 1_000) / pods;
  const withPods = await memoryOf(child);
  console.log(
    `  ${pods} pods created after ${created.toFixed(1)} s, Running after ${took.toFixed(1)} s: ` +
      `${Math.round(pods / took)}/s; CPU ` +
      `${cpu.toFixed(2)} ms each, of the API server ${ofServer.toFixed(2)} ms`,
  );
  console.log(`  ${perObject(before, withPods, pods)}, `, withPods);
}

async function measure(nodes: number, pods: number): Promise<void> {
  const cluster = await Cluster.start("memory", 0, []);
  const child = startNodes(writeKubeconfig(cluster.api), nodes);
  try {
    const bare = await memoryOf(child);
    const began = performance.now();
    await until(async () => (await countOf(cluster, leases)) >= nodes);
    const seconds = (performance.now() - began) / 1_000;
    const registered = cpuOf({ child, url: "" }) / 1e6;
    const withNodes = await memoryOf(child);
    console.log(`${nodes} nodes registered after ${seconds.toFixed(1)} s, `, withNodes);
    console.log(`  ${perObject(bare, withNodes, nodes)}, CPU ${registered.toFixed(1)} s`);
    if (pods > 0) await measurePods(cluster, child, { nodes, pods });
    await measureIdle(cluster, child);
  } finally {
    await stop(child);
    await cluster.close();
  }
}

const counts = values.nodes.split(",").map(Number);
const podCounts = values.pods === "" ? [] : values.pods.split(",").map(Number);
for (const [at, nodes] of counts.entries()) {
  await measure(nodes, podCounts[at] ?? nodes * podsPerNode);
}
