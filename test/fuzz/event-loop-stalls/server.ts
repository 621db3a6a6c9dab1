/** The child process of this test: a server in memory that measures how long its event loop stalls. */
import { readFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { definition, many, numbered } from "./build-body.ts";

type Keelson = typeof import("../../../cmd/keelson/index.ts");

const [, , keelson] = process.argv;
const { startServer } = (await import(keelson as string)) as Keelson;

const resolutionMs = 2;
const delay = monitorEventLoopDelay({ resolution: resolutionMs });

async function start(): Promise<void> {
  const server = await startServer({ port: 0, controllers: false });
  const post = async (path: string, body: object): Promise<string> => {
    const headers = { "content-type": "application/json" };
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    const response = await server.fetch(path, init);
    if (response.status !== 201) throw new Error(`${path}: ${response.status}`);
    const { metadata } = (await response.json()) as { metadata: { resourceVersion: string } };
    return metadata.resourceVersion;
  };
  const named = (kind: string, name: string): object => {
    return { apiVersion: "v1", kind, metadata: { name } };
  };
  await post("/api/v1/namespaces/default/serviceaccounts", named("ServiceAccount", "default"));
  await post("/api/v1/namespaces/default/configmaps", named("ConfigMap", "there"));
  await post("/api/v1/namespaces/default/configmaps", {
    ...named("ConfigMap", "wide"),
    data: numbered(24_000),
  });
  await post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition);
  while ((await server.fetch("/apis/example.com/v1")).status !== 200) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const large = { apiVersion: "example.com/v1", kind: "Large" };
  const wide = { ...large, metadata: { name: "wide" }, spec: { open: numbered(47_000, 1) } };
  const items = many(16_000, (i) => ({ name: `i${i}`, size: i }));
  const long = { ...large, metadata: { name: "long" }, spec: { items } };
  const version = await post("/apis/example.com/v1/namespaces/default/larges", wide);
  await post("/apis/example.com/v1/namespaces/default/larges", long);
  process.send?.({ url: server.url, token: server.token, version });
}

/** CPU time of this thread, ms. */
function threadCpu(): number {
  return Number(readFileSync("/proc/thread-self/schedstat", "utf8").split(" ")[0]) / 1e6;
}

let longestTurnMs = 0;
let looking: NodeJS.Timeout | undefined;

/** Measures CPU time as well: on a busy machine a stall is longer than the work that causes it. */
function lookAtTurns(): void {
  if (process.platform !== "linux") return;
  let before = threadCpu();
  looking = setInterval(() => {
    const now = threadCpu();
    longestTurnMs = Math.max(longestTurnMs, now - before);
    before = now;
  }, resolutionMs);
}

let cpu = process.cpuUsage();

process.on("message", (asked: "begin" | "end") => {
  if (asked === "begin") {
    delay.reset();
    delay.enable();
    longestTurnMs = 0;
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
  process.send?.({ stallMs, turnMs: longestTurnMs, cpuMs: (user + system) / 1000, rssMb });
});
// The parent may be killed.
process.on("disconnect", () => process.exit());

await start();
