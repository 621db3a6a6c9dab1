/**
 * Prints time and CPU time of `startServer()` and `fork()` in this process as JSON. Run by start.ts
 * with the directory of a build and the numbers of objects that are stored when servers are forked.
 */
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import type { RunningServer } from "#controlplane";
import { configMap } from "./client.ts";

export interface Cost {
  readonly name: string;
  readonly ms: number;
  readonly cpuMs: number;
}

const [build = ".", rounds = "20", ...stored] = process.argv.slice(2);
const entry = pathToFileURL(path.resolve(build, "dist", "index.js"));
const { startServer } = (await import(entry.href)) as typeof import("#controlplane");
const inFlight = 32;
/** Settling time after a server is ready, so that its first work is not measured with the next server. */
const restMs = 50;

/** Measures the costs of the rounds; the first one may create data that the others share. */
async function measured(
  name: string,
  start: () => Promise<RunningServer>,
): Promise<readonly [Cost, ...Cost[]]> {
  const costs: Cost[] = [];
  for (let round = 0; round < Number(rounds); round++) {
    const began = performance.now();
    const cpu = process.cpuUsage();
    const server = await start();
    const { user, system } = process.cpuUsage(cpu);
    costs.push({ name, ms: performance.now() - began, cpuMs: (user + system) / 1000 });
    await sleep(restMs);
    await server.close();
    globalThis.gc?.();
  }
  return costs as [Cost, ...Cost[]];
}

function least(costs: readonly [Cost, ...Cost[]]): Cost {
  const of = (key: "ms" | "cpuMs") => Math.min(...costs.map((cost) => cost[key]));
  return { name: costs[0].name, ms: of("ms"), cpuMs: of("cpuMs") };
}

async function fill(server: RunningServer, from: number, to: number): Promise<void> {
  let next = from;
  const worker = async () => {
    for (let n = next++; n < to; n = next++) {
      const init = { method: "POST", headers: { "content-type": "application/json" } };
      const body = configMap({ name: `object-${n}` }).toString();
      const url = "/api/v1/namespaces/default/configmaps";
      const answer = await server.fetch(url, { ...init, body });
      if (answer.status !== 201) throw new Error(await answer.text());
      await answer.arrayBuffer();
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
}

const starts = await measured("startServer()", () => startServer());
const costs: Cost[] = [{ ...starts[0], name: "startServer(), the first" }, least(starts)];
const original = await startServer();
let filled = 0;
for (const count of stored.map(Number)) {
  await fill(original, filled, count);
  filled = count;
  await sleep(restMs);
  costs.push(least(await measured(`fork(), ${count} objects stored`, () => original.fork())));
}
await original.close();
console.log(JSON.stringify(costs));
