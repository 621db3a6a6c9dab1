import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { type Aim, Connection, rate } from "./client.ts";

/** Equal calls, many at a time. */
export interface Load {
  readonly path: string;
  readonly connections: number;
  /** Calls at a time, over all connections. */
  readonly inFlight: number;
  readonly accept: string;
  /** With a body the calls are POST, else GET. */
  readonly body?: Buffer;
}

/** Whether h2load (Debian: nghttp2-client) makes the load. It leaves the machine to the server. */
export const usesH2load = spawnSync("h2load", ["--version"]).status === 0;

/** Calls a second. */
export function loadRate(aim: Aim, load: Load, seconds: number): Promise<number> {
  return usesH2load ? h2load(aim, load, seconds) : own(aim, load, seconds);
}

/** From Node's own client, which takes as much of the machine as the server. */
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

const run = promisify(execFile);

async function h2load(aim: Aim, load: Load, seconds: number): Promise<number> {
  const folder = mkdtempSync(path.join(tmpdir(), "keelson-load-"));
  const words = [
    `--duration=${seconds}`,
    "--warm-up-time=300ms",
    `--clients=${load.connections}`,
    `--max-concurrent-streams=${load.inFlight / load.connections}`,
    "--window-bits=24",
    "--connection-window-bits=26",
    `--header=authorization: Bearer ${aim.token}`,
    `--header=accept: ${load.accept}`,
  ];
  if (load.body !== undefined) {
    const file = path.join(folder, "body.json");
    writeFileSync(file, load.body);
    words.push("--header=content-type: application/json", `--data=${file}`);
  }
  try {
    const { stdout } = await run("h2load", [...words, aim.url + load.path]);
    const [, perSecond] = /finished in .*?, ([\d.]+) req\/s/.exec(stdout) ?? [];
    const [, others] = /status codes: \d+ 2xx, (.*)/.exec(stdout) ?? [];
    if (others !== "0 3xx, 0 4xx, 0 5xx" || !/ 0 failed, 0 errored/.test(stdout)) {
      throw new Error(`h2load: ${stdout}`);
    }
    return Number(perSecond);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
