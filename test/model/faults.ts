import type { Random } from "#base";
import {
  ProcessEndedError,
  type LocalProcess,
} from "../../pkg/controlplane/cluster/local-process.ts";
import { manners } from "./network.ts";
import { pause } from "./traffic.ts";
import type { World } from "./world.ts";

/** Something that goes wrong, and is put right before the promise resolves. */
interface Fault {
  readonly name: string;
  readonly run: (how: Making) => Promise<void>;
}

interface Making {
  readonly world: World;
  readonly random: Random;
  /** A cut lasts no longer. */
  readonly longestMs: number;
  readonly log: (line: string) => void;
}

const graceMs = 15_000;
const maxStarts = 5;
const downMs = [50, 300, 1000];
const stoppedMs = [200, 1000, 3000];
/** The last is longer than any lease, and than servers wait for an answer. */
const cutMs = [200, 1000, 3000, 12_000];
const wrongMs = [0, 1_000, 60_000, 7_200_000];

async function crash(process: LocalProcess, random: Random): Promise<void> {
  await process.kill();
  await pause(random.pick(downMs));
  await start(process);
}

/** Restarts the server when it exits because it cannot reach the store. */
async function start(process: LocalProcess): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await process.start();
    } catch (error) {
      if (!(error instanceof ProcessEndedError) || attempt >= maxStarts) throw error;
    }
  }
}

/**
 * Freezes a process: it keeps its connections open and does not respond, like behind a network
 * partition.
 */
async function freeze(process: LocalProcess, random: Random): Promise<void> {
  process.signal("SIGSTOP");
  await pause(random.pick(stoppedMs));
  process.signal("SIGCONT");
}

/** Waits for all even if one fails, so that no recovery runs concurrently with later steps. */
async function all(works: readonly Promise<void>[]): Promise<void> {
  for (const result of await Promise.allSettled(works)) {
    if (result.status === "rejected") throw result.reason;
  }
}

type Between = Parameters<World["network"]["cut"]>[0];

async function cut(
  { world: { network }, random, longestMs, log }: Making,
  between: Between,
): Promise<void> {
  const manner = random.pick(manners);
  const ms = Math.min(random.pick(cutMs), longestMs);
  const breaking = random.below(2) === 0;
  log(`  ${manner} for ${ms} ms${breaking ? ", and break" : ""}`);
  const mend = network.cut(between, manner);
  await pause(ms);
  mend({ breaking });
}

const processFaults: readonly Fault[] = [
  {
    name: "kill a server",
    run: ({ world, random }) => crash(random.pick(world.cluster.servers), random),
  },
  {
    name: "freeze a server",
    run: ({ world, random }) => freeze(random.pick(world.cluster.servers), random),
  },
  {
    name: "restart a server",
    run: async ({ world, random }) => {
      const server = random.pick(world.cluster.servers);
      await server.stop(graceMs);
      await start(server);
    },
  },
  {
    name: "kill a member",
    run: ({ world, random }) => crash(random.pick(world.cluster.members), random),
  },
  {
    name: "freeze a member",
    run: ({ world, random }) => freeze(random.pick(world.cluster.members), random),
  },
  {
    name: "kill all members",
    run: async ({ world: { cluster } }) => {
      await all(cluster.members.map((member) => member.kill()));
      await all(cluster.members.map(start));
    },
  },
  {
    name: "kill a server and a member",
    run: async ({ world: { cluster }, random }) => {
      await all([
        crash(random.pick(cluster.servers), random),
        crash(random.pick(cluster.members), random),
      ]);
    },
  },
];

const networkFaults: readonly Fault[] = [
  {
    name: "cut a server off from a member",
    run: (how) => {
      const { servers, members } = how.world.cluster;
      const server = how.random.pick(servers).name;
      const member = how.random.pick(members).name;
      return cut(how, (from, to) => from === server && to === member);
    },
  },
  {
    name: "cut a server off from the store",
    run: (how) => {
      const server = how.random.pick(how.world.cluster.servers).name;
      return cut(how, (from) => from === server);
    },
  },
  {
    name: "cut the balancer off from a server",
    run: (how) => {
      const server = how.random.pick(how.world.cluster.servers).name;
      return cut(how, (_from, to) => to === server);
    },
  },
  {
    // Servers still reach it, and it may believe for a while that it leads.
    name: "cut a member off from the others",
    run: (how) => {
      const names = how.world.cluster.members.map(({ name }) => name);
      const member = how.random.pick(names);
      return cut(how, (from, to) => names.includes(from) && [from, to].includes(member));
    },
  },
  {
    name: "cut members off from each other",
    run: (how) => {
      const names = how.world.cluster.members.map(({ name }) => name);
      return cut(how, (from) => names.includes(from));
    },
  },
];

const clockFaults: readonly Fault[] = [
  {
    name: "set the clock of a client",
    run: async ({ world, random, log }) => {
      const byMs = random.pick(wrongMs) * random.pick([-1, 1]);
      log(`  ${byMs} ms wrong`);
      random.pick(world.clocks).set(byMs);
    },
  },
];

/** One fault, or one of a process while the network is cut. */
export async function makeFault(how: Making): Promise<void> {
  const { random, log } = how;
  const kinds = random.pick([
    [processFaults],
    [networkFaults],
    [clockFaults],
    [processFaults, networkFaults],
  ]);
  const chosen = kinds.map((faults) => random.pick(faults));
  log(chosen.map(({ name }) => name).join(", "));
  await all(chosen.map((fault) => fault.run(how)));
}
