/**
 * `npm run bench:scheduler`: pods bound per second in workloads of Kubernetes' scheduler_perf, by
 * `keelson scheduler` with an API server in a separate process.
 *
 * --nodes=500,5000      numbers of nodes (500)
 * --only=A,B            names of workloads; `Lone`: a single pod on an idle cluster of 100 nodes;
 *                       `Idle`: memory with nodes of one pod each and no pending pods
 * --compare=COMMAND     another scheduler, /path/to/kube-scheduler; both run in turns on one API server
 * --rounds=N            runs of each scheduler (3); figures are medians
 * --storage=memory|etcd storage of the API server (memory)
 *
 * Pods are created while they are scheduled, as in scheduler_perf, so the time includes what the API
 * server needs for 32 creates at a time. Figures are only comparable within one invocation.
 */
import { parseArgs } from "node:util";
import { cpuOf, quantile } from "./load/processes.ts";
import { Cluster } from "./scheduling/cluster.ts";
import { keelson, memoryMib, type Scheduler, startScheduler, stop } from "./scheduling/programs.ts";
import {
  initNamespace,
  measuredNamespace,
  type Workload,
  workloads,
} from "./scheduling/workloads.ts";

const { values } = parseArgs({
  options: {
    nodes: { type: "string", default: "500" },
    only: { type: "string", default: "" },
    compare: { type: "string", default: "" },
    rounds: { type: "string", default: "3" },
    storage: { type: "string", default: "memory" },
  },
});
const rounds = Number(values.rounds);
const timeoutSeconds = 600;
const loneNodes = 100;
const lonePods = 200;
/** Time in ms for which an idle scheduler may return memory to the system. */
const idleMs = 20_000;

const schedulers: readonly Scheduler[] =
  values.compare === ""
    ? [keelson]
    : [keelson, { name: "compared", command: values.compare.split(" ") }];

/** Figures of one run. */
interface Run {
  readonly scheduler: string;
  readonly podsPerSecond: number;
  /** CPU time of the scheduler per pod. */
  readonly cpuMs: number;
  readonly memory: Readonly<Record<"resident" | "peak" | "anonymous", number>>;
  /** Milliseconds from the create of each pod until it is seen as bound; only of lone pods. */
  readonly latencies: readonly number[];
}

async function withScheduler(
  cluster: Cluster,
  scheduler: Scheduler,
  work: (cpuMs: () => number) => Promise<Pick<Run, "podsPerSecond" | "latencies" | "cpuMs">>,
): Promise<Run> {
  const child = startScheduler(scheduler, cluster.api);
  try {
    const { url } = cluster.api;
    const figures = await work(() => cpuOf({ child, url }) / 1_000);
    return { scheduler: scheduler.name, memory: memoryMib(child), ...figures };
  } finally {
    await stop(child);
  }
}

/** Schedules one pod first, so that the scheduler's caches are synced and its code is loaded. */
async function warmUp(cluster: Cluster): Promise<void> {
  const namespace = "warm";
  const bound = await cluster.watchBound(namespace);
  const { measured } = workloads[0]!;
  await cluster.makePods(namespace, measured, { prefix: "warm", count: 1 });
  await bound.until((names) => names.size === 1, timeoutSeconds);
  bound.close();
  await cluster.deletePods(namespace);
}

function runWorkload(
  cluster: Cluster,
  scheduler: Scheduler,
  { workload, count }: { readonly workload: Workload; readonly count: number },
): Promise<Run> {
  return withScheduler(cluster, scheduler, async (cpuMs) => {
    await warmUp(cluster);
    const bound = await cluster.watchBound(measuredNamespace);
    const [began, cpu] = [performance.now(), cpuMs()];
    const pods = { prefix: "pod", count };
    const made = cluster.makePods(measuredNamespace, workload.measured, pods);
    await Promise.all([made, bound.until((names) => names.size === count, timeoutSeconds)]);
    const seconds = (performance.now() - began) / 1_000;
    bound.close();
    const figures = { podsPerSecond: count / seconds, cpuMs: (cpuMs() - cpu) / count };
    return { ...figures, latencies: [] };
  });
}

function runLone(cluster: Cluster, scheduler: Scheduler): Promise<Run> {
  return withScheduler(cluster, scheduler, async (cpuMs) => {
    await warmUp(cluster);
    const bound = await cluster.watchBound(measuredNamespace);
    const { measured } = workloads[0]!;
    const latencies: number[] = [];
    const cpu = cpuMs();
    for (let at = 0; at < lonePods; at++) {
      const began = performance.now();
      const prefix = `lone-${at}`;
      await cluster.makePods(measuredNamespace, measured, { prefix, count: 1 });
      await bound.until((names) => names.has(`${prefix}-0`), timeoutSeconds);
      latencies.push(performance.now() - began);
    }
    bound.close();
    return { podsPerSecond: 0, cpuMs: (cpuMs() - cpu) / lonePods, latencies };
  });
}

function runIdle(cluster: Cluster, scheduler: Scheduler): Promise<Run> {
  return withScheduler(cluster, scheduler, async () => {
    await warmUp(cluster);
    await new Promise((resolve) => setTimeout(resolve, idleMs));
    return { podsPerSecond: 0, cpuMs: 0, latencies: [] };
  });
}

async function prepared(nodes: number, zones: readonly string[]): Promise<Cluster> {
  const cluster = await Cluster.start(values.storage, nodes, zones);
  for (const name of ["warm", initNamespace, measuredNamespace]) await cluster.makeNamespace(name);
  return cluster;
}

async function inTurns(run: (scheduler: Scheduler) => Promise<Run>): Promise<readonly Run[]> {
  const runs: Run[] = [];
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? schedulers : schedulers.toReversed();
    for (const scheduler of order) runs.push(await run(scheduler));
  }
  return runs;
}

async function measure(workload: Workload, nodes: number): Promise<void> {
  const { init, measured } = workload.counts(nodes);
  const cluster = await prepared(nodes, workload.zones);
  try {
    const { devicesPerNode = 0 } = workload;
    if (devicesPerNode > 0) await cluster.makeDevices(nodes, devicesPerNode);
    const fill = () =>
      cluster.makePods(initNamespace, workload.init, { prefix: "init", count: init, nodes });
    await fill();
    const runs = await inTurns(async (scheduler) => {
      const run = await runWorkload(cluster, scheduler, { workload, count: measured });
      await cluster.deletePods(measuredNamespace);
      if (workload.measured.hasClaim === true) await cluster.deleteClaims(measuredNamespace);
      if (workload.preempts === true) {
        await cluster.deletePods(initNamespace);
        await fill();
      }
      return run;
    });
    print(`${workload.name}, ${nodes} nodes, ${init} + ${measured} pods`, runs);
  } finally {
    await cluster.close();
  }
}

async function measureLone(): Promise<void> {
  const cluster = await prepared(loneNodes, []);
  try {
    const runs = await inTurns(async (scheduler) => {
      const run = await runLone(cluster, scheduler);
      await cluster.deletePods(measuredNamespace);
      return run;
    });
    print(`Lone pod, ${loneNodes} nodes`, runs);
  } finally {
    await cluster.close();
  }
}

async function measureIdle(nodes: number): Promise<void> {
  const cluster = await prepared(nodes, []);
  try {
    const { init } = workloads[0]!;
    await cluster.makePods(initNamespace, init, { prefix: "init", count: nodes, nodes });
    print(`Idle, ${nodes} nodes and pods`, await inTurns((each) => runIdle(cluster, each)), [
      ["MiB", ({ memory }) => memory.resident],
      ["MiB no file", ({ memory }) => memory.anonymous],
    ]);
  } finally {
    await cluster.close();
  }
}

type Figure = readonly [unit: string, value: (run: Run) => number];

const usualFigures: readonly Figure[] = [
  ["pods/s", ({ podsPerSecond }) => podsPerSecond],
  ["ms p50", ({ latencies }) => quantile(latencies, 0.5)],
  ["ms p99", ({ latencies }) => quantile(latencies, 0.99)],
  ["ms CPU/pod", ({ cpuMs }) => cpuMs],
  ["MiB peak", ({ memory }) => memory.peak],
];

function print(title: string, runs: readonly Run[], figures = usualFigures): void {
  console.log(title);
  const median = (name: string, value: (run: Run) => number) =>
    quantile(runs.filter(({ scheduler }) => scheduler === name).map(value), 0.5);
  for (const [unit, value] of figures) {
    const each = schedulers.map(({ name }) => ({ name, figure: median(name, value) }));
    const [own, other] = each;
    if (own!.figure === 0) continue;
    const texts = each.map(({ name, figure }) => `${name} ${figure.toFixed(1)}`.padEnd(18));
    const ratio = other === undefined ? "" : `ratio ${(own!.figure / other.figure).toFixed(2)}`;
    console.log(`  ${unit.padEnd(11)} ${texts.join("")}${ratio}`);
  }
}

const isWanted = (name: string) => values.only === "" || values.only.split(",").includes(name);
for (const nodes of values.nodes.split(",").map(Number)) {
  for (const workload of workloads) if (isWanted(workload.name)) await measure(workload, nodes);
  if (isWanted("Idle")) await measureIdle(nodes);
}
if (isWanted("Lone")) await measureLone();
