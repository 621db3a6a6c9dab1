/** The child process of this test: a server in memory that measures how long its event loop stalls. */
import { readFileSync } from "node:fs";
import { monitorEventLoopDelay, type PerformanceEntry, PerformanceObserver } from "node:perf_hooks";
import type { PreparedServer } from "./scenes/scene.ts";
import { scenes } from "./scenes/index.ts";

type Keelson = typeof import("../../../cmd/keelson/index.ts");

const [, , keelson, sceneName] = process.argv;
const { startServer } = (await import(keelson as string)) as Keelson;

const resolutionMs = 2;
const delay = monitorEventLoopDelay({ resolution: resolutionMs });

async function start(): Promise<PreparedServer> {
  const scene = scenes.find(({ name }) => name === sceneName);
  if (scene === undefined) throw new Error(`there is no scene ${sceneName}`);
  const prepared = await scene.prepare(async (options) => {
    // A server counts from its start until it is ready; of several the last one counts.
    lookAtTurns();
    const server = await startServer(options);
    await new Promise((resolve) => setTimeout(resolve, 200));
    clearInterval(looking);
    return server;
  });
  const { server, version } = prepared;
  const { url, token } = server;
  process.send?.({ url, token, version, startTurnMs: longestTurnMs });
  return prepared;
}

/** CPU time of this thread, ms. */
function threadCpu(): number {
  // Linux counts the time since the last tick, of up to 4 ms, only when a process asks for all of its own.
  process.cpuUsage();
  return Number(readFileSync("/proc/thread-self/schedstat", "utf8").split(" ")[0]) / 1e6;
}

/** Pauses of garbage collection, in wall time. */
let collections: PerformanceEntry[] = [];
const collector = new PerformanceObserver((list) => void collections.push(...list.getEntries()));
collector.observe({ entryTypes: ["gc"] });

/** The part of the longest turn in which garbage was collected, ms of wall time. */
function collectedMs(): number {
  let sum = 0;
  for (const { startTime, duration } of [...collections, ...collector.takeRecords()]) {
    const from = Math.max(startTime, longestTurn.from);
    const to = Math.min(startTime + duration, longestTurn.to);
    sum += Math.max(0, to - from);
  }
  return sum;
}

let longestTurnMs = 0;
let longestTurn = { from: 0, to: 0 };
let looking: NodeJS.Timeout | undefined;

/** Measures CPU time as well: on a busy machine a stall is longer than the work that causes it. */
function lookAtTurns(): void {
  longestTurnMs = 0;
  longestTurn = { from: 0, to: 0 };
  collector.takeRecords();
  collections = [];
  if (process.platform !== "linux") return;
  let before = threadCpu();
  let from = performance.now();
  looking = setInterval(() => {
    const now = threadCpu();
    const to = performance.now();
    if (now - before > longestTurnMs) {
      longestTurnMs = now - before;
      longestTurn = { from, to };
    }
    before = now;
    from = to;
  }, resolutionMs);
}

let cpu = process.cpuUsage();

process.on("message", (asked: "begin" | "end") => {
  if (asked === "begin") {
    delay.reset();
    delay.enable();
    lookAtTurns();
    cpu = process.cpuUsage();
    process.send?.({});
    return;
  }
  const { user, system } = process.cpuUsage(cpu);
  delay.disable();
  clearInterval(looking);
  // The loop looks at its timer once per resolution at best.
  const stallMs = Math.max(0, delay.max / 1e6 - resolutionMs);
  const rssMb = process.memoryUsage.rss() / 2 ** 20;
  const cpuMs = (user + system) / 1000;
  process.send?.({ stallMs, turnMs: longestTurnMs, gcMs: collectedMs(), cpuMs, rssMb });
});
// The parent may be killed.
let prepared: PreparedServer | undefined;
process.on("disconnect", () => {
  void (prepared?.close?.() ?? Promise.resolve()).finally(() => process.exit());
});

prepared = await start();
