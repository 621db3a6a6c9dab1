import { once } from "node:events";
import { etcdBackend } from "../../../pkg/storage/etcd/index.ts";
import { type Aim, type Answer, configMap, Connection, rate } from "./client.ts";
import { holdStreams, loadRate } from "./load.ts";

const namespace = "bench";
const collection = `/api/v1/namespaces/${namespace}/configmaps`;

/** Paths of the measured requests; the floor server has others. */
export interface Paths {
  readonly create: string;
  /** Like `create`, but in a collection that is not listed. */
  readonly created: string;
  readonly object: string;
  readonly cached: string;
  readonly page: string;
  readonly list: string;
  readonly watch: string;
}

export const keelsonPaths: Paths = {
  create: collection,
  created: `/api/v1/namespaces/${namespace}-writes/configmaps`,
  object: `${collection}/object-5`,
  cached: `${collection}/object-5?resourceVersion=0`,
  page: `${collection}?limit=500`,
  list: collection,
  watch: `${collection}?watch=1&resourceVersion=`,
};

export const floorPaths: Paths = {
  create: "/object",
  created: "/object",
  object: "/object",
  cached: "/object",
  page: "/page",
  list: "/list",
  watch: "/watch?",
};

const json = "application/json";
const many = { connections: 4, inFlight: 64, accept: json };
const few = { connections: 4, inFlight: 4 };

/** Measured reads. */
export const reads = {
  get: { of: "object", ...many },
  getCached: { of: "cached", ...many },
  page: { of: "page", ...many, inFlight: 8 },
  list: { of: "list", ...few, accept: json },
  listProtobuf: { of: "list", ...few, accept: "application/vnd.kubernetes.protobuf" },
} as const;

/** Creates the namespaces, and `count` ConfigMaps of 1.3 KB in one of them. */
export async function fill(aim: Aim, count: number): Promise<void> {
  const connection = new Connection(aim);
  for (const name of [namespace, `${namespace}-writes`]) {
    const made = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
    const body = Buffer.from(JSON.stringify(made));
    await connection.call("POST", "/api/v1/namespaces", { body });
  }
  let next = 0;
  const worker = async () => {
    for (let n = next++; n < count; n = next++) {
      const body = configMap({ name: `object-${n}` });
      const created = await connection.call("POST", collection, { body });
      if (created.status >= 400 && created.status !== 409) throw new Error(created.body.toString());
    }
  };
  await Promise.all(Array.from({ length: 32 }, worker));
  connection.close();
}

/** Measures creates per second. */
export function creates(aim: Aim, paths: Paths, seconds: number): Promise<number> {
  const body = configMap({ generateName: "object-" });
  const load = { path: paths.created, connections: 4, inFlight: 32, accept: json, body };
  return loadRate(aim, load, seconds);
}

/** Measures reads per second. */
export function readRate(
  aim: Aim,
  { paths, what }: { readonly paths: Paths; readonly what: keyof typeof reads },
  seconds: number,
): Promise<number> {
  const { of, ...load } = reads[what];
  return loadRate(aim, { path: paths[of], ...load }, seconds);
}

/** Measures the transactions per second of the same writes directly on etcd. */
export async function transactions(endpoint: string, seconds: number): Promise<number> {
  await using backend = etcdBackend({ endpoints: [endpoint] });
  const run = Date.now().toString(36);
  const write = async (n: number): Promise<Answer> => {
    const key = `/bench/${run}-${n}`;
    const value = configMap({ name: `object-${n}` });
    await backend.txn({
      compare: [{ key, modRevision: 0 }],
      then: [{ put: key, value }],
      otherwise: [],
    });
    return { status: 201, body: value, retryAfter: 0 };
  };
  return await rate(seconds, 32, write);
}

export interface FanOut {
  /** Events delivered per second to all watchers. */
  readonly events: number;
  /** Milliseconds from sending a write to the arrival of its event at one watcher. */
  readonly p50: number;
  readonly p99: number;
}

export interface FanOutLoad {
  readonly watchers: number;
  readonly writers: number;
  readonly seconds: number;
}

/** Writers create as fast as they can; an additional watcher measures the latencies. */
export async function fanOut(aim: Aim, paths: Paths, load: FanOutLoad): Promise<FanOut> {
  const { watchers, writers, seconds } = load;
  const [writing, watching] = [new Connection(aim), new Connection(aim)];
  const revision = paths === keelsonPaths ? await newestRevision(writing) : "";
  const path = paths.watch + revision;
  const timed = await timedWatch(watching, path);
  const held = await holdStreams(aim, { path, streams: watchers === 1 ? 0 : watchers }, seconds);
  const run = `w${Date.now().toString(36)}`;
  const start = performance.now();
  await rate(seconds, writers, (n) => {
    const name = `${run}-${n}-end`;
    timed.sentAt.set(name, performance.now());
    return writing.call("POST", paths.create, { body: configMap({ name }) });
  });
  const spent = (performance.now() - start) / 1000;
  const others = (await held.end()) / (timed.bytes / timed.events);
  for (const connection of [writing, watching]) connection.close();
  const events = (watchers === 1 ? timed.events : others) / spent;
  return { events, ...quantiles(timed.latencies) };
}

function quantiles(latencies: readonly number[]): Pick<FanOut, "p50" | "p99"> {
  const sorted = latencies.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? 0;
  return { p50: at(0.5), p99: at(0.99) };
}

/** The floor of `fanOut` with one watcher: the same writes to etcd, and a watch of etcd itself. */
export async function etcdWatch(
  endpoint: string,
  { writers, seconds }: Pick<FanOutLoad, "writers" | "seconds">,
): Promise<FanOut> {
  await using backend = etcdBackend({ endpoints: [endpoint] });
  const prefix = `/bench/watch-${Date.now().toString(36)}-`;
  const sentAt = new Map<string, number>();
  const latencies: number[] = [];
  const stop = new AbortController();
  const fromRevision = (await backend.revision()) + 1;
  const watching = (async () => {
    for await (const { events } of backend.watch({ fromRevision, signal: stop.signal })) {
      for (const event of events) {
        const sent = event.type === "put" ? sentAt.get(event.entry.key) : undefined;
        if (sent !== undefined) latencies.push(performance.now() - sent);
      }
    }
  })();
  const value = configMap({ name: "object" });
  const written = await rate(seconds, writers, async (n) => {
    const key = `${prefix}${n}`;
    sentAt.set(key, performance.now());
    const compare = [{ key, modRevision: 0 }];
    await backend.txn({ compare, then: [{ put: key, value }], otherwise: [] });
    return { status: 201, body: value, retryAfter: 0 };
  });
  stop.abort();
  await watching;
  return { events: written, ...quantiles(latencies) };
}

/** A watcher that measures the latency of its events. */
interface TimedWatch {
  /** Time at which the write of an object was sent, by name. */
  readonly sentAt: Map<string, number>;
  /** Milliseconds from then until the arrival of the event. */
  readonly latencies: number[];
  events: number;
  bytes: number;
}

async function timedWatch(connection: Connection, path: string): Promise<TimedWatch> {
  const timed: TimedWatch = { sentAt: new Map(), latencies: [], events: 0, bytes: 0 };
  const stream = connection.open("GET", path);
  stream.on("error", (error) => console.error(`watch: ${error.message}`));
  const isFloor = path.startsWith(floorPaths.watch);
  stream.on("data", (chunk: Buffer) => {
    timed.bytes += chunk.length;
    timed.events += isFloor ? chunk.length / 1450 : lines(chunk);
    noteArrivals(chunk, timed);
  });
  await once(stream, "response");
  return timed;
}

async function newestRevision(connection: Connection): Promise<string> {
  const answer = await connection.call("GET", `${collection}?limit=1`, { keep: true });
  return JSON.parse(answer.body.toString()).metadata.resourceVersion;
}

const newline = 10;

function lines(chunk: Buffer): number {
  let count = 0;
  for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, at + 1)) count++;
  return count;
}

function noteArrivals(chunk: Buffer, { sentAt, latencies }: TimedWatch): void {
  const now = performance.now();
  for (const [name] of chunk.toString("latin1").matchAll(/w[a-z0-9]{6,}-\d+-end/g)) {
    const sent = sentAt.get(name);
    if (sent === undefined) continue;
    sentAt.delete(name);
    latencies.push(now - sent);
  }
}
