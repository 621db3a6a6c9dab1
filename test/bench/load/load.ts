import { execFile, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { type Aim, Connection, rate } from "./client.ts";

/** Equal concurrent calls. */
export interface Load {
  readonly path: string;
  readonly connections: number;
  /** Number of concurrent calls over all connections. */
  readonly inFlight: number;
  readonly accept: string;
  /** Body of POST calls; absent = GET. */
  readonly body?: Buffer;
}

/** Whether h2load (Debian: nghttp2-client) generates the load. It uses little CPU. */
export const usesH2load = spawnSync("h2load", ["--version"]).status === 0;

/** Measures calls per second. */
export function loadRate(aim: Aim, load: Load, seconds: number): Promise<number> {
  return usesH2load ? h2load(aim, load, seconds) : own(aim, load, seconds);
}

/** Generates the load with Node's client, which uses as much CPU as the server. */
async function own(aim: Aim, load: Load, seconds: number): Promise<number> {
  const { path: url, inFlight, accept, body } = load;
  const connections = Array.from({ length: load.connections }, () => new Connection(aim));
  const method = body === undefined ? "GET" : "POST";
  try {
    return await rate(seconds, inFlight, (n) => {
      const connection = connections[n % connections.length] as Connection;
      return connection.call(method, url, { accept, ...(body && { body }) });
    });
  } finally {
    for (const connection of connections) connection.close();
  }
}

/** Open streams whose bytes are counted and discarded. */
export interface Held {
  /** Ends the load and returns the bytes of all bodies. */
  end(): Promise<number>;
}

/** Opens streams over five connections, for at least `seconds`. */
export function holdStreams(
  aim: Aim,
  { path: url, streams }: { readonly path: string; readonly streams: number },
  seconds: number,
): Promise<Held> {
  if (streams === 0) return Promise.resolve({ end: async () => 0 });
  return usesH2load ? holdByH2load(aim, { url, streams }, seconds) : holdOwn(aim, url, streams);
}

const holding = 5;

async function holdOwn(aim: Aim, url: string, streams: number): Promise<Held> {
  const connections = Array.from({ length: holding }, () => new Connection(aim));
  let bytes = 0;
  for (let n = 0; n < streams; n++) {
    const stream = connections[n % holding]!.open("GET", url);
    stream.on("error", (error) => console.error(`watch: ${error.message}`));
    stream.on("data", (chunk: Buffer) => (bytes += chunk.length));
    await once(stream, "response");
  }
  const end = async (): Promise<number> => {
    for (const connection of connections) connection.close();
    return bytes;
  };
  return { end };
}

/** h2load does not report when its streams are open, and ends after its duration. */
async function holdByH2load(
  aim: Aim,
  { url, streams }: { readonly url: string; readonly streams: number },
  seconds: number,
): Promise<Held> {
  const load = { path: url, connections: holding, inFlight: streams, accept: json };
  const ended = run("h2load", [...wordsOf(aim, load), `--duration=${seconds + 2}`, aim.url + url]);
  await sleep(1_000);
  return { end: async () => Number(figureIn((await ended).stdout, /\((\d+)\) data/)) };
}

const run = promisify(execFile);
const json = "application/json";

function wordsOf(aim: Aim, load: Load): string[] {
  return [
    `--clients=${load.connections}`,
    `--max-concurrent-streams=${load.inFlight / load.connections}`,
    "--window-bits=24",
    "--connection-window-bits=26",
    `--header=authorization: Bearer ${aim.token}`,
    `--header=accept: ${load.accept}`,
  ];
}

async function h2load(aim: Aim, load: Load, seconds: number): Promise<number> {
  const words = [`--duration=${seconds}`, "--warm-up-time=300ms"];
  return Number(figureIn(await told(aim, load, words), /finished in .*?, ([\d.]+) req\/s/));
}

/** Makes a number of calls with h2load. */
export async function loadCalls(aim: Aim, load: Load, calls: number): Promise<void> {
  figureIn(await told(aim, load, [`--requests=${calls}`]), /requests: (\d+) total/);
}

async function told(aim: Aim, load: Load, more: readonly string[]): Promise<string> {
  const folder = mkdtempSync(path.join(tmpdir(), "keelson-load-"));
  const words = [...wordsOf(aim, load), ...more];
  if (load.body !== undefined) {
    const file = path.join(folder, "body.json");
    writeFileSync(file, load.body);
    words.push("--header=content-type: application/json", `--data=${file}`);
  }
  try {
    const { stdout } = await run("h2load", [...words, aim.url + load.path]);
    return stdout;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** @throws Error unless all calls succeeded */
function figureIn(told: string, pattern: RegExp): string {
  const isWell = / 0 failed, 0 errored/.test(told) && /2xx, 0 3xx, 0 4xx, 0 5xx/.test(told);
  const figure = pattern.exec(told)?.[1];
  if (!isWell || figure === undefined) throw new Error(`h2load: ${told}`);
  return figure;
}
