import { writeFileSync } from "node:fs";
import path from "node:path";
import { type Clock, systemClock } from "#base";
import {
  type Cluster,
  type ClusterOptions,
  startCluster,
} from "../../pkg/controlplane/cluster/cluster.ts";
import type { LocalProcess } from "../../pkg/controlplane/cluster/local-process.ts";
import { skewed } from "../../pkg/client/testing.ts";
import { Network } from "./network.ts";
import { pause } from "./traffic.ts";

/** A wall clock with an adjustable offset. */
export interface Wrong {
  /** The offset in ms. */
  set(byMs: number): void;
}

/** A cluster whose network can be partitioned, and whose clients' clocks can be set. */
export interface World {
  readonly cluster: Cluster;
  readonly network: Network;
  /** Clocks of the controller managers and of the clients in this process. */
  readonly clocks: readonly Wrong[];
  /** One per client in this process. */
  readonly clientClocks: readonly Clock[];
  close(): Promise<void>;
}

const clients = 3;
const failedStartMs = 500;
const preloaded = new URL("jumping-clock.mjs", import.meta.url);

export async function startWorld(options: ClusterOptions): Promise<World> {
  let cluster: Cluster | undefined;
  const network = new Network(() => processesOf(cluster?.members ?? []));
  const set: Wrong[] = [];
  const managerNodeFlags = (name: string) => {
    const file = path.join(options.directory, `${name}.clock`);
    const wrong: Wrong = { set: (byMs) => writeFileSync(file, String(byMs)) };
    wrong.set(0);
    set.push(wrong);
    return [`--import=${preloaded.href}?${new URLSearchParams({ file })}`];
  };
  const route: ClusterOptions["route"] = (link) => network.lay(link);
  const clientClocks = Array.from({ length: clients }, () => {
    let wrongBy = 0;
    set.push({ set: (byMs) => (wrongBy = byMs) });
    return skewed(systemClock, () => wrongBy);
  });
  try {
    const started = await startCluster({ ...options, managerNodeFlags, route });
    cluster = started;
    const life = new AbortController();
    const tending = started.managers.map((manager) => tend(manager, life.signal));
    const close = async () => {
      life.abort();
      await Promise.all(tending);
      await started.close();
      network.close();
    };
    return { cluster, network, clocks: set, clientClocks, close };
  } catch (error) {
    network.close();
    throw error;
  }
}

/** Restarts controller managers, which exit when they lose the lease. */
async function tend(manager: LocalProcess, signal: AbortSignal): Promise<void> {
  const over = new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  for (;;) {
    await Promise.race([manager.ended(), over]);
    if (signal.aborted) return;
    await manager.start(signal).catch(() => pause(failedStartMs));
  }
}

function processesOf(all: readonly LocalProcess[]): ReadonlyMap<string, number> {
  return new Map(all.flatMap(({ name, pid }) => (pid === undefined ? [] : [[name, pid]])));
}
