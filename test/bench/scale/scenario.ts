/** Shared parts of the scale scenarios: a server on an etcd, calls, and their costs. */
import { mkdirSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { EtcdCluster } from "../../../pkg/storage/etcd/testing.ts";
import { type Aim, type Answer, type CallOptions, Connection } from "../load/client.ts";
import { cpuOfTree, memoryOfTree, quantile } from "../load/processes.ts";
import { type BenchServer, type Launcher, startBenchEtcd } from "../load/servers.ts";
import { inLanes } from "../load/write-rounds.ts";
import type { Point } from "./slope.ts";

/** One dimension of scale. */
export interface Scenario {
  /** Name of the counted things. */
  readonly sizeName: string;
  readonly sizes: readonly number[];
  /** Sizes with which the scenario takes seconds. */
  readonly smallSizes: readonly number[];
  readonly measure: (scene: Scene, sizes: readonly number[]) => AsyncIterable<Point>;
}

/** A local server whose process can be measured. */
export type LocalServer = BenchServer & { readonly pid: number; readonly readyMs: number };

export interface SceneExtent {
  /** Existing directory for files of the servers. */
  readonly folder: string;
  /** Number of calls for a median. */
  readonly calls: number;
  /** Duration of loads in seconds. */
  readonly seconds: number;
}

/** An etcd and the servers that a scenario starts on it. */
export class Scene implements AsyncDisposable {
  private servers: LocalServer[] = [];

  private constructor(
    private readonly launcher: Launcher,
    private readonly extent: SceneExtent,
    readonly etcd: EtcdCluster,
  ) {}

  static async open(launcher: Launcher, extent: SceneExtent): Promise<Scene> {
    const etcd = await startBenchEtcd();
    return new Scene(launcher, extent, etcd);
  }

  get calls(): number {
    return this.extent.calls;
  }

  get seconds(): number {
    return this.extent.seconds;
  }

  /** Starts another server. */
  async start(flags: readonly string[] = []): Promise<LocalServer> {
    const folder = path.join(this.extent.folder, `server-${this.servers.length}`);
    mkdirSync(folder, { recursive: true });
    const server = await this.launcher({ etcd: this.etcd, folder, flags });
    const { pid, readyMs } = server;
    if (pid === undefined || readyMs === undefined) throw new Error("the server is not local");
    const local = { ...server, pid, readyMs };
    this.servers.push(local);
    return local;
  }

  /** Stops all servers. */
  async stop(): Promise<void> {
    const stopping = this.servers;
    this.servers = [];
    await Promise.all(stopping.map((server) => server.stop()));
  }

  get endpoint(): string {
    return this.etcd.endpoints[0] as string;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.etcd[Symbol.asyncDispose]();
  }
}

/** Client whose calls must succeed. */
export class Client {
  private readonly connection: Connection;

  constructor(readonly aim: Aim) {
    this.connection = new Connection(aim);
  }

  /** @throws Error when the response is an error */
  async call(method: string, at: string, options: CallOptions = {}): Promise<Answer> {
    const answer = await this.connection.call(method, at, options);
    if (answer.status === 0 || answer.status >= 400) {
      throw new Error(`${method} ${at}: ${answer.status} ${answer.body.toString().slice(0, 500)}`);
    }
    return answer;
  }

  get(at: string): Promise<Answer> {
    return this.call("GET", at);
  }

  async getObject(at: string): Promise<any> {
    return JSON.parse((await this.call("GET", at, { keep: true })).body.toString());
  }

  create(collection: string, object: object): Promise<Answer> {
    return this.call("POST", collection, { body: Buffer.from(JSON.stringify(object)) });
  }

  /** Creates a namespace, and the ServiceAccount that admission of pods requires. */
  async createNamespace(name: string): Promise<void> {
    const meta = { apiVersion: "v1", metadata: { name } };
    await this.create("/api/v1/namespaces", { ...meta, kind: "Namespace" });
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } };
    const accounts = `/api/v1/namespaces/${name}/serviceaccounts`;
    const { status, body } = await this.connection.call("POST", accounts, {
      body: Buffer.from(JSON.stringify(account)),
    });
    if (status >= 400 && status !== 409) throw new Error(body.toString());
  }

  close(): void {
    this.connection.close();
  }
}

/** Time limit of a median in ms, except for the first three calls. */
const medianLimitMs = 5_000;
const leastCalls = 3;

/** Median latency in ms of at most `count` calls, `width` of them concurrent. */
export async function medianMs(
  count: number,
  call: (n: number) => Promise<unknown>,
  width = 1,
): Promise<number> {
  const latencies: number[] = [];
  const end = performance.now() + medianLimitMs;
  await inLanes(
    count,
    async (n) => {
      const sent = performance.now();
      if (sent > end && latencies.length >= leastCalls) return;
      await call(n);
      latencies.push(performance.now() - sent);
    },
    width,
  );
  return quantile(latencies, 0.5);
}

/** Duration of one call in ms. */
export async function durationMs(call: () => Promise<unknown>): Promise<number> {
  const sent = performance.now();
  await call();
  return performance.now() - sent;
}

/** CPU time of servers per call, in ms. */
export async function cpuMsPerCall(
  servers: readonly LocalServer[],
  count: number,
  call: (n: number) => Promise<unknown>,
): Promise<number> {
  const spent = (): number => servers.reduce((sum, { pid }) => sum + cpuOfTree(pid), 0) / 1_000;
  const before = spent();
  await inLanes(count, call);
  return (spent() - before) / count;
}

export const residentMib = ({ pid }: LocalServer): number => memoryOfTree(pid);

const idleShare = 0.1;
const idleMs = 500;
const longestMs = 90_000;

/** Waits until a server uses less than a tenth of a core, for 90 s at most. */
export async function untilIdle({ pid }: LocalServer): Promise<void> {
  const deadline = performance.now() + longestMs;
  for (let share = 1; share > idleShare && performance.now() < deadline;) {
    const [before, began] = [cpuOfTree(pid), performance.now()];
    await sleep(idleMs);
    share = (cpuOfTree(pid) - before) / 1_000 / (performance.now() - began);
  }
}
