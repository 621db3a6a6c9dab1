/**
 *     npm run bench:test-servers -- [--envtest=DIR,DIR] [--rounds=5]
 *
 * Cost of a test server: ms until it serves, ms until it is stopped, resident memory once it serves.
 * Measures `testServer()` in a separate process, a fork of it, `keelson testserver`, and environments
 * of envtest for each directory of programs (that of `keelson envtest` is always measured), with the
 * build in `dist` and in turns.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { Environment } from "../../cmd/envtest/testing.ts";
import { root } from "../tidy/source.ts";
import { memoryOfTree, quantile } from "./load/processes.ts";

const { values: options } = parseArgs({
  options: { envtest: { type: "string", default: "" }, rounds: { type: "string", default: "5" } },
});

/** Costs of one round; absent = not measured. */
interface Cost {
  readonly upMs: number;
  readonly downMs: number;
  readonly mib?: number;
}

type Costs = ReadonlyMap<string, Cost>;

const keelson = path.join(root, "dist", "keelson.js");

/** Measures the kit in a process that prints its own figures. */
async function measureKit(): Promise<Costs> {
  const program = `
    import { testServer } from ${JSON.stringify(path.join(root, "dist", "testing-kit.js"))};
    const time = async (work) => {
      const began = performance.now();
      const result = await work();
      return [performance.now() - began, result];
    };
    const [first, server] = await time(() => testServer({ controllers: false }));
    const mib = process.memoryUsage.rss() / 2 ** 20;
    const [forked, fork] = await time(() => server.fork());
    const [forkDown] = await time(() => fork.close());
    const [down] = await time(() => server.close());
    console.log(JSON.stringify({ first, forked, forkDown, down, mib }));`;
  const words = ["--input-type=module", "--eval", program];
  const { first, forked, forkDown, down, mib } = JSON.parse(
    execFileSync(process.execPath, words, { encoding: "utf8" }),
  );
  return new Map<string, Cost>([
    ["testServer(), of the process that has loaded it", { upMs: first, downMs: down, mib }],
    ["fork() of it", { upMs: forked, downMs: forkDown }],
  ]);
}

async function measureProgram(): Promise<Costs> {
  const began = performance.now();
  const child = spawn(process.execPath, [keelson, "testserver"], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  await once(createInterface(child.stdout), "line");
  const upMs = performance.now() - began;
  const mib = memoryOfTree(child.pid as number);
  const ending = performance.now();
  child.stdin.end();
  await once(child, "exit");
  return new Map([["keelson testserver", { upMs, downMs: performance.now() - ending, mib }]]);
}

async function measureEnvtest(assets: string, folder: string): Promise<Costs> {
  const environment = new Environment(assets, folder);
  const began = performance.now();
  await environment.start();
  const upMs = performance.now() - began;
  const mib = environment.processes.reduce((all, pid) => all + memoryOfTree(pid), 0);
  const ending = performance.now();
  await environment.stop();
  const name = assets === own ? "keelson envtest" : `envtest, ${assets}`;
  return new Map([[name, { upMs, downMs: performance.now() - ending, mib }]]);
}

const folder = mkdtempSync(path.join(tmpdir(), "keelson-test-servers-"));
const own = path.join(folder, "keelson");
execFileSync(process.execPath, [keelson, "envtest", `--dir=${own}`]);
const folders = [own, ...options.envtest.split(",").filter(Boolean)];
const measured = new Map<string, Cost[]>();
for (let round = 0; round < Number(options.rounds); round++) {
  const subjects = [measureKit, measureProgram];
  const environments = folders.map((assets) => () => measureEnvtest(assets, folder));
  for (const measure of [...subjects, ...environments]) {
    for (const [name, cost] of await measure()) {
      measured.set(name, [...(measured.get(name) ?? []), cost]);
    }
  }
}
rmSync(folder, { recursive: true, force: true });

console.log(`${"median of the rounds".padEnd(60)} ${"up ms".padStart(9)} down ms   MiB`);
for (const [name, costs] of measured) {
  const figures = (["upMs", "downMs", "mib"] as const).map((key) => {
    const values = costs.map((cost) => cost[key]).filter((value) => value !== undefined);
    return (values.length === 0 ? "" : quantile(values, 0.5).toFixed(0)).padStart(8);
  });
  console.log(`${name.padEnd(60)} ${figures.join(" ")}`);
}
