/**
 * `npm run model [-- --minutes=10] [--seed=1]`: runs random traffic through a local cluster whose
 * processes are killed, stopped and partitioned, and checks the observations of all clients. Exits with
 * 1 on a violation; `test/model/TRACK-RECORD.md` lists what it has found.
 */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { runModel } from "./model.ts";
import { startWorld } from "./world.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "5" },
    seed: { type: "string", default: String(Date.now() % 100_000) },
  },
});
const directory = mkdtempSync(path.join(tmpdir(), "keelson-model-"));
const world = await startWorld({
  directory,
  port: 0,
  apiserverFlags: ["--etcd-compaction-interval=10s"],
});
console.log(`seed ${values.seed}; data and logs in ${directory}`);
try {
  const { violations, ...counts } = await runModel({
    world,
    seconds: Number(values.minutes) * 60,
    seed: Number(values.seed),
    log: (line) => console.log(`${new Date().toISOString()} ${line}`),
  });
  console.log(counts);
  for (const violation of violations) console.error(violation);
  process.exitCode = violations.length === 0 ? 0 : 1;
} finally {
  await world.close();
}
