import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout } from "node:timers/promises";
import { createLogger, systemClock } from "#base";
import { domainOf } from "#meta";
import { parseKubeconfig } from "#request";
import type { RunningServer, StartOptions } from "../options.ts";
import { startServer } from "../start/start-server.ts";
import { recordCluster, type RecordOptions } from "./record.ts";

const silent = createLogger({ write: () => undefined });

/** Servers and the directory of a test of recordings. */
export class RecordingScene {
  readonly folder = mkdtempSync(path.join(tmpdir(), "keelson-record-"));
  /** Directory of the recording. */
  readonly directory = path.join(this.folder, "recording");
  private readonly running: RunningServer[] = [];

  async start(options: StartOptions = {}): Promise<RunningServer> {
    const server = await startServer({ controllers: false, logger: silent, ...options });
    this.running.push(server);
    return server;
  }

  /** Records a server until the recording completes or the signal aborts; returns the directory. */
  async record(
    server: RunningServer,
    options: Partial<RecordOptions> = {},
    signal: AbortSignal = new AbortController().signal,
  ): Promise<string> {
    const { directory } = this;
    const endpoint = parseKubeconfig(server.kubeconfig, () => "");
    const selection = { namespaces: [], kinds: [], watch: false, recorded: () => undefined };
    const common = { clock: systemClock, domain: domainOf(), logger: silent };
    await recordCluster({ endpoint, directory, ...selection, ...common, ...options }, signal);
    return directory;
  }

  async end(): Promise<void> {
    await Promise.all(this.running.splice(0).map((server) => server.close({ graceMs: 0 })));
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/**
 * Sends a request, with a JSON body if there is one, and returns the JSON of the response, which
 * must succeed.
 */
export async function call(server: RunningServer, url: string, body?: object, method = "POST") {
  const init = { method, body: JSON.stringify(body) };
  const headers = { "content-type": "application/json" };
  const answer = await server.fetch(url, body === undefined ? {} : { ...init, headers });
  const result: any = await answer.json();
  assert.ok(answer.ok, `${url}: ${JSON.stringify(result)}`);
  return result;
}

/** Resolves with the first value of `probe` that is not undefined. */
export async function until<T>(probe: () => T | undefined | Promise<T | undefined>): Promise<T> {
  for (let tries = 0; tries < 3600; tries++) {
    const found = await probe();
    if (found !== undefined) return found;
    await setTimeout(20);
  }
  return assert.fail("timed out");
}
