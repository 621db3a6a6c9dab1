/**
 *     npm run bench:start -- [--builds=DIR,DIR] [--nodes=NODE,NODE] [--rounds=5]
 *       [--backend=memory|etcd]
 *
 * Time from the start of the process to ready, CPU time and resident memory at that moment, of an
 * API server that makes its certificates and of one that finds them. Builds, which are folders with
 * a `dist`, and versions of Node take turns.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { startEtcd } from "../../pkg/storage/etcd/testing.ts";
import { cpuOf, quantile, residentMib, startServerProcess } from "./processes.ts";

const { values: options } = parseArgs({
  options: {
    builds: { type: "string", default: "." },
    nodes: { type: "string", default: process.execPath },
    backend: { type: "string", default: "memory" },
    rounds: { type: "string", default: "5" },
  },
});

interface Start {
  readonly ms: number;
  readonly cpuMs: number;
  readonly mib: number;
}

async function start(build: string, node: string, flags: readonly string[]): Promise<Start> {
  const began = performance.now();
  const server = await startServerProcess(flags, path.resolve(build), node);
  const measured = {
    ms: performance.now() - began,
    cpuMs: cpuOf(server) / 1_000,
    mib: residentMib(server),
  };
  server.child.removeAllListeners("exit");
  const ended = new Promise((resolve) => server.child.once("exit", resolve));
  server.child.kill();
  await ended;
  return measured;
}

function print(name: string, starts: readonly Start[]): void {
  const figures = (["ms", "cpuMs", "mib"] as const).map((key) => {
    const values = starts.map((each) => each[key]);
    return `${Math.min(...values).toFixed(0)} (${quantile(values, 0.5).toFixed(0)})`.padStart(14);
  });
  console.log(`${name.padEnd(60)} ${figures.join(" ")}`);
}

const folder = mkdtempSync(path.join(tmpdir(), "keelson-start-"));
const etcd = options.backend === "etcd" ? await startEtcd() : undefined;
const storage = etcd
  ? ["--storage-backend=etcd3", `--etcd-servers=${etcd.endpoints[0]}`]
  : [`--storage-backend=${options.backend}`];
const variants = options.builds.split(",").flatMap((build) => {
  return options.nodes.split(",").map((node) => ({
    build,
    node,
    first: [] as Start[],
    again: [] as Start[],
  }));
});
try {
  for (let round = 0; round < Number(options.rounds); round++) {
    const order = round % 2 === 0 ? variants : variants.toReversed();
    for (const { build, node, first, again } of order) {
      const data = mkdtempSync(path.join(folder, "data-"));
      const flags = [...storage, `--data-dir=${data}`];
      first.push(await start(build, node, flags));
      again.push(await start(build, node, flags));
    }
  }
} finally {
  await etcd?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
}
console.log(`${options.backend}: minimum (median) of ${options.rounds} rounds`);
console.log(
  `${"".padEnd(60)} ${"ready, ms".padStart(14)} ${"CPU, ms".padStart(14)} ${"MiB".padStart(14)}`,
);
for (const { build, node, first, again } of variants) {
  print(`${build} on ${node}, first start`, first);
  print(`${build} on ${node}, again`, again);
}
