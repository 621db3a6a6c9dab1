/**
 * Many watchers of a kind: CPU time of the server per write, and the time until all of them have
 * its event.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { root } from "../../tidy/source.ts";
import { type Aim, configMap } from "../load/client.ts";
import { cpuOfTree, quantile } from "../load/processes.ts";
import { Client, residentMib, type Scenario } from "./scenario.ts";

const namespace = "scale-watchers";
const collection = `/api/v1/namespaces/${namespace}/configmaps`;

export const watchers: Scenario = {
  sizeName: "watchers",
  sizes: [500, 1_500, 5_000],
  smallSizes: [5, 10, 20],
  async *measure(scene, sizes) {
    const server = await scene.start();
    const client = new Client(server.aim);
    await client.createNamespace(namespace);
    const writes = scene.calls;
    for (const size of sizes) {
      const list = await client.getObject(`${collection}?limit=1`);
      const { resourceVersion } = list.metadata;
      const began = cpuOfTree(server.pid);
      await using held = await holdWatches(
        server.aim,
        `${collection}?watch=1&resourceVersion=${resourceVersion}`,
        size,
      );
      const opened = cpuOfTree(server.pid);
      const mib = residentMib(server);
      const latencies: number[] = [];
      for (let n = 1; n <= writes; n++) {
        const sent = performance.now();
        await client.call("POST", collection, { body: configMap({ name: `w-${size}-${n}` }) });
        while ((await held.events()) < n * size) await sleep(1);
        latencies.push(performance.now() - sent);
      }
      const costs = {
        "open CPU ms": (opened - began) / 1_000,
        "write to all p50 ms": quantile(latencies, 0.5),
        "p99 ms": quantile(latencies, 0.99),
        "CPU per write ms": (cpuOfTree(server.pid) - opened) / 1_000 / writes,
        "resident MiB": mib,
      };
      yield { size, costs };
    }
    client.close();
  },
};

interface HeldWatches extends AsyncDisposable {
  /** Total number of events that the watches have received. */
  events(): Promise<number>;
}

async function holdWatches(aim: Aim, watched: string, streams: number): Promise<HeldWatches> {
  const program = path.join(root, "test/bench/scale/hold-watches.ts");
  const flags = ["--conditions=source", "--import=tsx", program];
  const words = [...flags, aim.url, aim.token, watched, `${streams}`];
  const child = spawn(process.execPath, words, { cwd: root, stdio: ["pipe", "pipe", "inherit"] });
  const exited = once(child, "exit");
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const line = async (): Promise<string> => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error("the process that holds the watches has exited");
    return value;
  };
  await line();
  return {
    events: async () => {
      child.stdin.write("events\n");
      return Number(await line());
    },
    [Symbol.asyncDispose]: async () => {
      child.stdin.end();
      await exited;
    },
  };
}
