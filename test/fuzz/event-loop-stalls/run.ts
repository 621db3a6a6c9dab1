/**
 * `npm run bench:stalls [-- "part of a name|another"] [--rounds=5] [--bound=20]`: how long one request holds
 * the event loop of a server in memory, one row per class of bodies. The CPU time of the longest
 * turn counts, since a stall on a busy machine is longer than the work that causes it. The first
 * request of a class runs code that V8 has not compiled yet, so it stands in a column of its own;
 * of the others the median is compared with the bound. A column says for how long garbage was collected
 * within the longest turn, in wall time. Exits with 1 if a class is above it.
 */
import { parseArgs } from "node:util";
import type { BodyClass } from "./build-body.ts";
import { MeasuredServer, type Stall } from "./measure.ts";
import { type Scene, scenes } from "./scenes/index.ts";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: "string", default: "5" },
    /** Milliseconds of CPU. */
    bound: { type: "string", default: "20" },
  },
});
const [part = ""] = positionals;
const rounds = Math.max(2, Number(options.rounds));
const bound = Number(options.bound);

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
}

function row(cells: readonly (string | number)[]): void {
  const shown = cells.map((cell) => (typeof cell === "number" ? cell.toFixed(0) : cell));
  console.log(`| ${shown.join(" | ")} |`);
}

const build = new URL("../../../dist/index.js", import.meta.url).href;
const above: string[] = [];

function report(
  each: Pick<BodyClass, "name" | "body">,
  stalls: readonly Stall[],
  turn: number,
): void {
  const [first, ...later] = stalls as [Stall, ...Stall[]];
  const cpu = median(later.map(({ cpuMs }) => cpuMs));
  if (turn > bound) above.push(each.name);
  const megabytes = (each.body.length / 1e6).toFixed(1);
  const mark = turn > bound ? "above" : "";
  const collected = median(later.map(({ gcMs }) => gcMs));
  const { rssMb } = later.at(-1)!;
  row([each.name, megabytes, first.status, first.turnMs, turn, mark, collected, cpu, rssMb]);
  if (process.env.VERBOSE !== undefined) console.log(`  ${first.text}`);
}

async function measureScene(scene: Scene, requests: readonly BodyClass[]): Promise<void> {
  const server = await MeasuredServer.start(build, scene.name);
  console.log(`start of ${scene.name}: ${server.startTurnMs.toFixed(0)}`);
  for (const each of requests) {
    const stalls: Stall[] = [];
    for (let round = 0; round < rounds; round++) stalls.push(await server.send(each, round));
    report(each, stalls, median(stalls.slice(1).map(({ turnMs }) => turnMs)));
  }
  await server.close();
}

async function measureFresh(scene: Scene, requests: readonly BodyClass[]): Promise<void> {
  for (const each of requests) {
    const stalls: Stall[] = [];
    for (let round = 0; round < rounds; round++) {
      const server = await MeasuredServer.start(build, scene.name);
      stalls.push(await server.send(each));
      await server.close();
    }
    report(each, stalls, median(stalls.map(({ turnMs }) => turnMs)));
  }
}

console.log(`Node ${process.version}; turns in ms of CPU, bound ${bound} ms`);
row(["body", "MB", "status", "first turn", "median turn", "", "of it GC", "CPU, ms", "RSS, MB"]);
row(Array.from({ length: 9 }, () => "---"));
for (const scene of scenes) {
  const requests = scene.requests.filter(({ name }) =>
    part.split("|").some((each) => name.includes(each)),
  );
  if (requests.length === 0) continue;
  await (scene.fresh === true ? measureFresh : measureScene)(scene, requests);
}
console.log(`${above.length} classes above ${bound} ms`);
process.exitCode = above.length === 0 ? 0 : 1;
