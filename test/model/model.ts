import { setMaxListeners } from "node:events";
import { readFileSync } from "node:fs";
import { type Random, seededRandom, systemClock } from "#base";
import { type Client, connections, type Handle, HttpClient, retrying } from "#client";
import { domainOf, StatusError } from "#meta";
import { noInstruments, parseKubeconfig } from "#request";
import { type Backend, openEtcdBackend } from "#storage";
import type { Cluster } from "../../cmd/cluster/cluster.ts";
import { checkHistory, checkWatcher } from "./check.ts";
import { faults } from "./faults.ts";
import type { Change, Operation, Told } from "./history.ts";
import { namespace, names, pause, runTraffic, runWatcher, things } from "./traffic.ts";
import { Witness } from "./witness.ts";

export interface ModelOptions {
  readonly cluster: Cluster;
  readonly seconds: number;
  readonly seed: number;
  /** Told of every fault that is made. */
  readonly log?: (line: string) => void;
}

export interface ModelResult {
  readonly violations: readonly string[];
  readonly operations: number;
  readonly changes: number;
  readonly events: number;
  readonly faults: number;
  /** Requests that failed, as they may while servers are killed. */
  readonly failures: number;
}

const workers = 12;
const requestMs = 10_000;
/** Until a watcher that was cut off has seen everything. */
const catchUpMs = 60_000;
const catchUpStepMs = 50;
const peaceMs = [200, 500, 1500];
const namespaces: Handle = {
  group: "",
  version: "v1",
  plural: "namespaces",
  kind: "Namespace",
  namespaced: false,
};

/** A client of its own connections through the balancer; each request is tried once. */
export function balanced(
  { kubeconfig }: Cluster,
  signal: AbortSignal,
  { retry = false }: { readonly retry?: boolean } = {},
): Client {
  const endpoint = parseKubeconfig(readFileSync(kubeconfig, "utf8"), (file) =>
    readFileSync(file, "utf8"),
  );
  const clock = systemClock;
  const once = connections({ endpoint: () => endpoint, clock, signal });
  const host = endpoint.url.host;
  const send = retry ? retrying(once, { clock, host, instruments: noInstruments }) : once;
  const options = { send, clock, signal, userAgent: "model", timeoutMs: requestMs };
  return new HttpClient({ ...options, domain: domainOf() });
}

/** Random traffic and random faults, and then the question whether all of it makes sense. */
export async function runModel(options: ModelOptions): Promise<ModelResult> {
  const { cluster, seconds, seed, log = () => undefined } = options;
  const life = new AbortController();
  // Every client listens to it.
  setMaxListeners(0, life.signal);
  const traffic = new AbortController();
  await prepare(cluster, life.signal);
  const store = await openStore(cluster);
  const prefix = `/registry/configmaps/${namespace}/`;
  const witness = await Witness.begin({ backend: store, prefix, names });
  const history: Operation[] = [];
  const failures: string[] = [];
  const told: readonly Watcher[] = [
    { story: [] },
    { story: [] },
    { story: [], name: names[0]! },
  ];
  const watching = told.map(({ story, ...selection }) =>
    runWatcher(balanced(cluster, life.signal), story, { signal: life.signal, ...selection }),
  );
  const working = Array.from({ length: workers }, (_, worker) =>
    runTraffic({
      client: balanced(cluster, life.signal),
      random: seededRandom(seed + worker + 1),
      worker,
      signal: traffic.signal,
      history,
      failures,
    }),
  );
  try {
    const made = await makeFaults(cluster, { random: seededRandom(seed), seconds, log });
    traffic.abort();
    await Promise.all(working);
    const changes = await witness.finish();
    await caughtUp(told, changes);
    return {
      violations: violationsOf(history, changes, told),
      operations: history.length,
      changes: changes.length,
      events: told.reduce((sum, { story }) => sum + story.length, 0),
      faults: made,
      failures: failures.length,
    };
  } finally {
    traffic.abort();
    life.abort();
    await Promise.allSettled([...working, ...watching]);
    await store[Symbol.asyncDispose]();
  }
}

function violationsOf(
  history: readonly Operation[],
  changes: readonly Change[],
  told: readonly Watcher[],
): string[] {
  const violations = [...checkHistory(history, changes)];
  for (const [index, { story, name }] of told.entries()) {
    const found = checkWatcher(story, changes, (key) => selects(name, key));
    violations.push(...found.map((text) => `watcher ${index}: ${text}`));
  }
  return violations;
}

interface Watcher {
  /** Of the only object that it watches; absent = all. */
  readonly name?: string;
  readonly story: Told[];
}

function selects(name: string | undefined, key: string): boolean {
  return name === undefined || name === key;
}

/** The namespace of the traffic, with nothing in it. */
async function prepare(cluster: Cluster, signal: AbortSignal): Promise<void> {
  const client = balanced(cluster, signal, { retry: true });
  try {
    await client.create(namespaces, { metadata: { name: namespace } });
  } catch (error) {
    if (!(error instanceof StatusError) || error.code !== 409) throw error;
    await client.deleteCollection(things, { namespace });
  }
}

function openStore({ store }: Cluster): Promise<Backend> {
  const { endpoints, files } = store;
  const read = (file: string): Buffer => readFileSync(file);
  const tls = { ca: read(files.ca), cert: read(files.cert), key: read(files.key) };
  return openEtcdBackend({ endpoints, tls, clock: systemClock });
}

interface FaultPlan {
  readonly random: Random;
  readonly seconds: number;
  readonly log: (line: string) => void;
}

/** One fault after the other, with a little peace between them. */
async function makeFaults(
  cluster: Cluster,
  { random, seconds, log }: FaultPlan,
): Promise<number> {
  const end = performance.now() + seconds * 1000;
  let made = 0;
  for (;;) {
    await pause(random.pick(peaceMs));
    if (performance.now() >= end) return made;
    const fault = random.pick(faults);
    log(fault.name);
    await fault.run(cluster, random);
    made += 1;
  }
}

/** Until every watcher was told of everything, or will not be. */
async function caughtUp(
  watchers: readonly Watcher[],
  changes: readonly { readonly key: string; readonly revision: number }[],
): Promise<void> {
  const end = performance.now() + catchUpMs;
  for (const { story, name } of watchers) {
    const last = changes.findLast(({ key }) => selects(name, key))?.revision ?? 0;
    while (performance.now() < end && positionOf(story) < last) await pause(catchUpStepMs);
  }
}

function positionOf(story: readonly Told[]): number {
  const last = story.at(-1);
  if (last === undefined) return 0;
  return "version" in last ? last.version.revision : last.revision;
}
