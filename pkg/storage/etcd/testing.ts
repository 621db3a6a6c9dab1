import { spawn, type ChildProcess } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assert, holdPort } from "#base";

export interface EtcdProcess {
  readonly endpoint: string;
  readonly pid: number;
  /** Sends SIGKILL; resolves when the process has exited. */
  kill(): Promise<void>;
  /** Restarts the member with the same data and ports; resolves when it listens. */
  start(): Promise<void>;
  signal(name: NodeJS.Signals): void;
}

export interface EtcdCluster extends AsyncDisposable {
  readonly members: readonly EtcdProcess[];
  readonly endpoints: readonly string[];
}

export interface EtcdClusterOptions {
  /** Number of members; default 1. */
  readonly size?: number;
  readonly arguments?: readonly string[];
  /** PEM files; with these, members require client certificates. */
  readonly tls?: { readonly ca: string; readonly cert: string; readonly key: string };
}

const missing =
  "etcd was not found on PATH: install it (Debian: apt-get install etcd-server; " +
  "others: https://github.com/etcd-io/etcd/releases) to run the tests of the etcd storage.";

/** Starts etcd processes on free ports with a temporary directory, which is deleted on disposal. */
export async function startEtcd(options: EtcdClusterOptions = {}): Promise<EtcdCluster> {
  const directory = await mkdtemp(join(tmpdir(), "keelson-etcd-"));
  const size = options.size ?? 1;
  const ports = await freePorts(2 * size);
  const peers = Array.from(
    { length: size },
    (_, index) => `m${index}=http://127.0.0.1:${ports[2 * index]}`,
  );
  const members = peers.map((peer, index) => {
    const client = `${options.tls ? "https" : "http"}://127.0.0.1:${ports[2 * index + 1]}`;
    const member = { name: `m${index}`, client, peer: peer.slice(peer.indexOf("=") + 1) };
    return new Member(flags({ ...member, directory, peers, options }), client);
  });
  try {
    await Promise.all(members.map((member) => member.start()));
  } catch (error) {
    await stopAll(members, directory);
    throw error;
  }
  return {
    members,
    endpoints: members.map(({ endpoint }) => endpoint),
    [Symbol.asyncDispose]: () => stopAll(members, directory),
  };
}

async function stopAll(members: readonly Member[], directory: string): Promise<void> {
  await Promise.all(members.map((member) => member.kill()));
  await rm(directory, { recursive: true, force: true });
}

function flags(member: {
  readonly name: string;
  readonly client: string;
  readonly peer: string;
  readonly directory: string;
  readonly peers: readonly string[];
  readonly options: EtcdClusterOptions;
}): readonly string[] {
  const { name, client, peer, directory, peers, options } = member;
  const { tls } = options;
  return [
    `--name=${name}`,
    `--data-dir=${join(directory, name)}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=${peers.join(",")}`,
    "--log-level=error",
    "--logger=zap",
    ...(tls === undefined
      ? []
      : [
          `--trusted-ca-file=${tls.ca}`,
          `--cert-file=${tls.cert}`,
          `--key-file=${tls.key}`,
          "--client-cert-auth",
        ]),
    ...(options.arguments ?? []),
  ];
}

class Member implements EtcdProcess {
  readonly endpoint: string;
  readonly #flags: readonly string[];
  #process: ChildProcess | undefined;
  #exited: Promise<void> = Promise.resolve();

  constructor(flags: readonly string[], endpoint: string) {
    this.#flags = flags;
    this.endpoint = endpoint;
  }

  get pid(): number {
    assert(this.#process?.pid !== undefined, "the member runs");
    return this.#process.pid;
  }

  signal(name: NodeJS.Signals): void {
    process.kill(this.pid, name);
  }

  async kill(): Promise<void> {
    this.#process?.kill("SIGKILL");
    await this.#exited;
    this.#process = undefined;
  }

  async start(): Promise<void> {
    const child = spawn("etcd", this.#flags, { stdio: ["ignore", "ignore", "pipe"] });
    let output = "";
    child.stderr?.on("data", (data: Buffer) => (output = (output + data.toString()).slice(-4_000)));
    this.#process = child;
    const failed = new Promise<never>((_, reject) => {
      child.once("error", (error: NodeJS.ErrnoException) =>
        reject(error.code === "ENOENT" ? new Error(missing) : error),
      );
      child.once("exit", () => reject(new Error(`etcd exited: ${output}`)));
    });
    failed.catch(() => {});
    this.#exited = new Promise((resolve) => {
      child.once("exit", () => resolve());
      child.once("error", () => resolve());
    });
    await Promise.race([failed, waitUntilListening(this.endpoint)]);
  }
}

/** Waits until the port accepts connections. */
async function waitUntilListening(endpoint: string): Promise<void> {
  const { hostname, port } = new URL(endpoint);
  const { connect } = await import("node:net");
  for (let tries = 0; tries < 2400; tries += 1) {
    const open = await new Promise<boolean>((resolve) => {
      const socket = connect(Number(port), hostname);
      socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
      socket.once("connect", () => socket.destroy());
    });
    if (open) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`nothing listens at ${endpoint}`);
}

async function freePorts(count: number): Promise<readonly number[]> {
  // All ports are held until the last is found, so that they are distinct.
  const held = await Promise.all(Array.from({ length: count }, () => holdPort(0)));
  await Promise.all(held.map((each) => each.release()));
  return held.map(({ port }) => port);
}
