/**
 *     npm run bench:scale -- SCENARIO... [--compare=PROGRAM] [--sizes=1000,3000] [--small]
 *
 * Costs at three sizes or more of one dimension, with the exponent of their growth (0 = level,
 * 1 = linear) and the size from which they grow faster than linearly ("knee"): objects, pods,
 * watchers, watch-lists, definitions, namespaces, leases, replicas, workers. Every server has
 * its own etcd. `--compare` measures the kube-apiserver at a path instead of Keelson. `--small` only
 * checks that a scenario runs.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { exitOnSignals, keelson, kubeApiserver } from "../load/servers.ts";
import { runScenario, scenarios } from "./index.ts";

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    compare: { type: "string" },
    sizes: { type: "string" },
    small: { type: "boolean", default: false },
  },
});

exitOnSignals();
const names = positionals.length === 0 ? Object.keys(scenarios) : positionals;
const launcher =
  options.compare === undefined ? keelson() : kubeApiserver(path.resolve(options.compare));
const folder = mkdtempSync(path.join(tmpdir(), "keelson-scale-"));
try {
  for (const name of names) {
    const scenario = scenarios[name];
    if (scenario === undefined) {
      throw new Error(`unknown scenario ${name}: ${Object.keys(scenarios).join(", ")}`);
    }
    console.log(`\n${name}, ${options.compare ?? `keelson, Node ${process.version}`}`);
    await runScenario(scenario, {
      launcher,
      folder,
      isSmall: options.small,
      sizes: options.sizes?.split(",").map(Number),
      print: (line) => console.log(line),
    });
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
