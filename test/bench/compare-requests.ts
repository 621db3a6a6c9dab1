/**
 * Compares two builds: CPU time of the server process per GET and per create of a ConfigMap of
 * 1 KB, over 4 connections with 16 streams each. Both servers run all the time and are measured in turns,
 * so that what else the machine does meets both. Needs h2load (Debian: nghttp2-client).
 *
 *     node --conditions=source --import=tsx test/bench/compare-requests.ts <A> <B> [rounds]
 *
 * A and B are directories of clones in which `node scripts/build.mjs` has run. Two runs of one
 * build show how far apart figures may be without meaning anything.
 */
import { type ChildProcess, spawn } from "node:child_process";
import fs from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { type Aim, configMap, Connection } from "./client.ts";
import { type Load, loadCalls } from "./load.ts";

const [first, second, rounds = "30"] = process.argv.slice(2);
if (first === undefined || second === undefined) throw new Error("two directories are needed");

const collection = "/api/v1/namespaces/default/configmaps";
const object = Buffer.from(configMap({ name: "one" }));
const common = { connections: 4, inFlight: 64, accept: "application/json" };
const loads: Readonly<Record<string, { readonly load: Load; readonly calls: number }>> = {
  GET: { load: { ...common, path: `${collection}/one` }, calls: 20_000 },
  create: {
    load: { ...common, path: collection, body: configMap({ generateName: "c-" }) },
    calls: 4_000,
  },
};

interface Build {
  readonly child: ChildProcess;
  readonly aim: Aim;
}

const scratch = fs.mkdtempSync(path.join(tmpdir(), "compare-requests-"));
const tokens = path.join(scratch, "tokens.csv");
fs.writeFileSync(tokens, 'secret,bench,bench,"system:masters"\n');

async function start(directory: string, name: string): Promise<Build> {
  const flags = [
    "--secure-port=0",
    "--bind-address=127.0.0.1",
    "--storage-backend=memory",
    `--data-dir=${path.join(scratch, name)}`,
    `--token-auth-file=${tokens}`,
  ];
  const words = ["dist/keelson.js", "apiserver", ...flags];
  const child = spawn("node", words, { cwd: directory, stdio: ["ignore", "pipe", "pipe"] });
  const url = await new Promise<string>((resolve, reject) => {
    let text = "";
    const read = (chunk: Buffer): void => {
      text += chunk.toString();
      const found = /https:\/\/127\.0\.0\.1:\d+/.exec(text);
      if (found !== null) resolve(found[0]);
    };
    child.stdout.on("data", read);
    child.stderr.on("data", read);
    child.once("exit", () => reject(new Error(text)));
  });
  return { child, aim: { url, token: "secret" } };
}

/** CPU time of all threads of the process, in µs. */
function cpuOf({ child }: Build): number {
  const tasks = `/proc/${child.pid}/task`;
  const times = fs.readdirSync(tasks).map((task) => {
    return Number(fs.readFileSync(`${tasks}/${task}/schedstat`, "utf8").split(" ")[0]);
  });
  return times.reduce((sum, nanoseconds) => sum + nanoseconds, 0) / 1_000;
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.floor(sorted.length * share)]!;
}

const builds = [await start(first, "a"), await start(second, "b")] as const;
for (const { aim } of builds) {
  const connection = new Connection(aim);
  await connection.call("POST", collection, { body: object });
  connection.close();
  for (const { load, calls } of Object.values(loads)) await loadCalls(aim, load, calls);
}

for (const [name, { load, calls }] of Object.entries(loads)) {
  const costs: readonly [number[], number[]] = [[], []];
  for (let round = 0; round < Number(rounds); round++) {
    for (const which of round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
      const before = cpuOf(builds[which]);
      await loadCalls(builds[which].aim, load, calls);
      costs[which].push((cpuOf(builds[which]) - before) / calls);
    }
  }
  for (const share of [0, 0.1, 0.5]) {
    const [a, b] = [quantile(costs[0], share), quantile(costs[1], share)];
    const ratio = (b / a).toFixed(3);
    console.log(
      `${name}, quantile ${share}: A ${a.toFixed(1)} µs, B ${b.toFixed(1)} µs, B/A ${ratio}`,
    );
  }
}

for (const { child } of builds) {
  child.removeAllListeners("exit");
  child.kill();
}
fs.rmSync(scratch, { recursive: true });
