import type { Random } from "#base";
import type { Cluster } from "../../cmd/cluster/cluster.ts";
import type { LocalProcess } from "../../cmd/cluster/local-process.ts";
import { pause } from "./traffic.ts";

/** Something that goes wrong, and is put right before the promise resolves. */
interface Fault {
  readonly name: string;
  readonly run: (cluster: Cluster, random: Random) => Promise<void>;
}

const graceMs = 15_000;
const downMs = [50, 300, 1000];
const stoppedMs = [200, 1000, 3000];

async function crash(process: LocalProcess, random: Random): Promise<void> {
  await process.kill();
  await pause(random.pick(downMs));
  await process.start();
}

/** It holds its connections and answers nothing: what others see when the network is cut. */
async function freeze(process: LocalProcess, random: Random): Promise<void> {
  process.signal("SIGSTOP");
  await pause(random.pick(stoppedMs));
  process.signal("SIGCONT");
}

/** Waits for all of them even if one fails, so that nothing is put right behind anybody's back. */
async function all(works: readonly Promise<void>[]): Promise<void> {
  for (const result of await Promise.allSettled(works)) {
    if (result.status === "rejected") throw result.reason;
  }
}

export const faults: readonly Fault[] = [
  { name: "kill a server", run: (c, random) => crash(random.pick(c.servers), random) },
  { name: "freeze a server", run: (c, random) => freeze(random.pick(c.servers), random) },
  {
    name: "restart a server",
    run: async (c, random) => {
      const server = random.pick(c.servers);
      await server.stop(graceMs);
      await server.start();
    },
  },
  { name: "kill a member", run: (c, random) => crash(random.pick(c.members), random) },
  { name: "freeze a member", run: (c, random) => freeze(random.pick(c.members), random) },
  {
    name: "kill all members",
    run: async (c) => {
      await all(c.members.map((member) => member.kill()));
      await all(c.members.map((member) => member.start()));
    },
  },
  {
    name: "kill a server and a member",
    run: async (c, random) => {
      await all([crash(random.pick(c.servers), random), crash(random.pick(c.members), random)]);
    },
  },
];
