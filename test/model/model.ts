import { setMaxListeners } from "node:events";
import { readFileSync } from "node:fs";
import { type Clock, type Random, seededRandom, systemClock } from "#base";
import { type Client, http2Transport, type Handle, HttpClient, withRetries } from "#client";
import { domainOf, StatusError } from "#meta";
import { noInstruments, parseKubeconfig } from "#request";
import { type Backend, openEtcdBackend } from "#storage";
import type { Cluster } from "../../pkg/controlplane/cluster/cluster.ts";
import { checkHistory, checkWatcher } from "./check.ts";
import { checkLed, checkTerms, runCandidate, type Term } from "./elections.ts";
import { makeFault } from "./faults.ts";
import type { Change, Operation, Told } from "./history.ts";
import { namespace, names, pause, runTraffic, runWatcher, things } from "./traffic.ts";
import { Witness } from "./witness.ts";
import type { World } from "./world.ts";

export interface ModelOptions {
  readonly world: World;
  readonly seconds: number;
  readonly seed: number;
  /** Called with every injected fault. */
  readonly log?: (line: string) => void;
}

export interface ModelResult {
  readonly violations: readonly string[];
  readonly operations: number;
  readonly changes: number;
  readonly events: number;
  readonly faults: number;
  /** Number of elections. */
  readonly terms: number;
  /** Failed requests, which are expected while servers are killed. */
  readonly failures: number;
}

const workers = 12;
const requestMs = 10_000;
/** Time in ms for a disconnected watcher to catch up. */
const catchUpMs = 60_000;
/** Least number of writes of a meaningful history, also on a slow machine. */
const enough = 60;
const enoughMs = 30_000;
const peaceMs = [200, 500, 1500];
/** No cut takes more of the time. */
const longestShare = 6;
const namespaces: Handle = {
  group: "",
  version: "v1",
  plural: "namespaces",
  kind: "Namespace",
  namespaced: false,
};

/** A client with separate connections through the load balancer; it does not retry. */
export function balanced(
  { kubeconfig }: Cluster,
  signal: AbortSignal,
  { retry = false, clock = systemClock }: { readonly retry?: boolean; readonly clock?: Clock } = {},
): Client {
  const endpoint = parseKubeconfig(readFileSync(kubeconfig, "utf8"), (file) =>
    readFileSync(file, "utf8"),
  );
  const once = http2Transport({ endpoint: () => endpoint, clock, signal });
  const host = endpoint.url.host;
  const send = retry ? withRetries(once, { clock, host, instruments: noInstruments }) : once;
  const options = { send, clock, signal, userAgent: "model", timeoutMs: requestMs };
  return new HttpClient({ ...options, domain: domainOf() });
}

/** Runs random traffic with random faults, then checks the history. */
export async function runModel(options: ModelOptions): Promise<ModelResult> {
  const { world, seconds, seed, log = () => undefined } = options;
  const { cluster, clientClocks } = world;
  const life = new AbortController();
  // Every client adds a listener to the signal.
  setMaxListeners(0, life.signal);
  const traffic = new AbortController();
  await prepare(cluster, life.signal);
  const store = await openStore(cluster);
  const prefix = `/registry/configmaps/${namespace}/`;
  const witness = await Witness.begin({ backend: store, prefix, names });
  const history: Operation[] = [];
  const failures: string[] = [];
  const told: readonly Watcher[] = [{ story: [] }, { story: [] }, { story: [], name: names[0]! }];
  const watching = told.map(({ story, ...selection }) =>
    runWatcher(balanced(cluster, life.signal), story, { signal: life.signal, ...selection }),
  );
  const terms: Term[] = [];
  const standing = clientClocks.map((clock, index) =>
    runCandidate({
      client: balanced(cluster, life.signal, { clock }),
      clock,
      identity: `candidate-${index}`,
      seed: seed - index,
      signal: life.signal,
      terms,
    }),
  );
  const working = Array.from({ length: workers }, (_, worker) =>
    runTraffic({
      client: balanced(cluster, life.signal, { clock: clientClocks[worker] ?? systemClock }),
      random: seededRandom(seed + worker + 1),
      worker,
      signal: traffic.signal,
      history,
      failures,
    }),
  );
  try {
    const made = await makeFaults(world, { random: seededRandom(seed), seconds, log });
    await until(enoughMs, () => history.filter(isDone).length >= enough);
    traffic.abort();
    await Promise.all(working);
    const changes = await witness.finish();
    await caughtUp(told, changes);
    const unled = await checkLed(balanced(cluster, life.signal, { retry: true }));
    return {
      violations: [...violationsOf(history, changes, told), ...checkTerms(terms), ...unled],
      operations: history.length,
      changes: changes.length,
      events: told.reduce((sum, { story }) => sum + story.length, 0),
      faults: made,
      terms: terms.length,
      failures: failures.length,
    };
  } finally {
    traffic.abort();
    life.abort();
    await Promise.allSettled([...working, ...watching, ...standing, witness.end()]);
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
  /** Name of the only watched object; absent for all. */
  readonly name?: string;
  readonly story: Told[];
}

function selects(name: string | undefined, key: string): boolean {
  return name === undefined || name === key;
}

/** Creates the namespace of the traffic, empty. */
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

/** Injects one fault after the other, with pauses between them. */
async function makeFaults(world: World, { random, seconds, log }: FaultPlan): Promise<number> {
  const end = performance.now() + seconds * 1000;
  let made = 0;
  for (;;) {
    await pause(random.pick(peaceMs));
    if (performance.now() >= end) return made;
    await makeFault({ world, random, log, longestMs: (seconds * 1000) / longestShare });
    made += 1;
  }
}

/** Waits until every watcher has received all changes, or the time is over. */
async function caughtUp(
  watchers: readonly Watcher[],
  changes: readonly { readonly key: string; readonly revision: number }[],
): Promise<void> {
  const isCaughtUp = watchers.map(({ story, name }) => {
    const last = changes.findLast(({ key }) => selects(name, key))?.revision ?? 0;
    return () => positionOf(story) >= last;
  });
  await until(catchUpMs, () => isCaughtUp.every((isIt) => isIt()));
}

/** Polls until the condition holds or the time is over. */
async function until(ms: number, holds: () => boolean): Promise<void> {
  for (const end = performance.now() + ms; performance.now() < end && !holds();) await pause(50);
}

function isDone(operation: Operation): boolean {
  return operation.kind === "write" && operation.outcome === "done";
}

function positionOf(story: readonly Told[]): number {
  const last = story.at(-1);
  if (last === undefined) return 0;
  return "version" in last ? last.version.revision : last.revision;
}
