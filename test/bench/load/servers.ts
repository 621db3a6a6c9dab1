/** Measured API servers, Keelson and others, each in a separate process. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type EtcdCluster, startEtcd } from "../../../pkg/storage/etcd/testing.ts";
import { root } from "../../tidy/source.ts";
import { type Aim, Connection } from "./client.ts";
import { memoryOfTree } from "./processes.ts";

/** A running API server. `pid` is absent if it runs on another host. */
export interface BenchServer {
  readonly name: string;
  readonly aim: Aim;
  readonly pid?: number;
  /**
   * Time in ms from the start of the process to the first 200 of `/readyz`; absent = not observed.
   */
  readonly readyMs?: number;
  /** Resident memory when it was ready, in MiB. */
  readonly startMib?: number;
  stop(): Promise<void>;
}

/** Starts an API server on an etcd. */
export type Launcher = (start: {
  readonly etcd: EtcdCluster | undefined;
  /** Existing directory of this server only, for credentials and logs. */
  readonly folder: string;
  readonly flags?: readonly string[];
}) => Promise<BenchServer>;

const token = "bench-token";
const longestStartMs = 240_000;

/** Launches Keelson as built in dist/. */
export function keelson(name = "keelson"): Launcher {
  return async ({ etcd, folder, flags = [] }) => {
    const port = await freePort();
    const storage =
      etcd === undefined
        ? ["--storage-backend=memory"]
        : ["--storage-backend=etcd3", `--etcd-servers=${etcd.endpoints.join(",")}`];
    const words = [
      "dist/keelson.js",
      "apiserver",
      `--secure-port=${port}`,
      "--bind-address=127.0.0.1",
      `--data-dir=${folder}`,
      `--token-auth-file=${writeTokens(folder)}`,
      ...storage,
      ...flags,
    ];
    return await launch(name, process.execPath, words, { port, folder });
  };
}

/** Launches a kube-apiserver by the path of its program. Needs openssl on PATH for its key. */
export function kubeApiserver(program: string): Launcher {
  return async ({ etcd, folder, flags = [] }) => {
    const port = await freePort();
    const key = path.join(folder, "sa.key");
    execFileSync("openssl", ["genrsa", "-out", key, "2048"], { stdio: "ignore" });
    const words = [
      `--secure-port=${port}`,
      "--bind-address=127.0.0.1",
      "--advertise-address=127.0.0.1",
      `--cert-dir=${folder}`,
      `--etcd-servers=${etcd?.endpoints.join(",")}`,
      `--token-auth-file=${writeTokens(folder)}`,
      "--authorization-mode=RBAC",
      "--service-account-issuer=https://kubernetes.default.svc",
      `--service-account-key-file=${key}`,
      `--service-account-signing-key-file=${key}`,
      "--service-cluster-ip-range=10.0.0.0/16",
      ...flags,
    ];
    return await launch("kube-apiserver", program, words, { port, folder });
  };
}

function writeTokens(folder: string): string {
  const tokens = path.join(folder, "tokens.csv");
  writeFileSync(tokens, `${token},bench,bench,"system:masters"\n`);
  return tokens;
}

async function launch(
  name: string,
  program: string,
  words: readonly string[],
  { port, folder }: { readonly port: number; readonly folder: string },
): Promise<BenchServer> {
  const began = performance.now();
  const log = openSync(path.join(folder, "log"), "w");
  const child = spawn(program, words, { cwd: root, stdio: ["ignore", log, log] });
  const kill = (): void => void child.kill("SIGKILL");
  process.on("exit", kill);
  child.once("exit", () => process.off("exit", kill));
  const aim = { url: `https://127.0.0.1:${port}`, token };
  try {
    await untilReady(aim, child);
  } catch (error) {
    await end(child);
    const text = readFileSync(path.join(folder, "log"), "utf8").slice(-2_000);
    throw new Error(`${name} does not become ready: ${text}`, { cause: error });
  }
  const pid = child.pid as number;
  const readyMs = performance.now() - began;
  return { name, aim, pid, readyMs, startMib: memoryOfTree(pid), stop: () => end(child) };
}

/** Polls `/readyz` until it is 200. */
export async function untilReady(aim: Aim, child?: ChildProcess): Promise<void> {
  const deadline = performance.now() + longestStartMs;
  while (!(await isReady(aim))) {
    if (child !== undefined && child.exitCode !== null) throw new Error("it has exited");
    if (performance.now() > deadline) throw new Error("timed out");
    await sleep(5);
  }
}

/**
 * Whether `/readyz` responds with 200; false if the server does not listen.
 *
 * @throws Error of the connection otherwise, of its certificate for example
 */
export async function isReady(aim: Aim): Promise<boolean> {
  let fault: (Error & { readonly code?: string }) | undefined;
  const connection = new Connection(aim, (error) => (fault = error));
  try {
    return (await connection.call("GET", "/readyz")).status === 200;
  } catch (error) {
    if (fault?.code === "ECONNREFUSED" || fault?.code === "ECONNRESET") return false;
    throw fault ?? error;
  } finally {
    connection.close();
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), 5_000);
  await exited;
  clearTimeout(timer);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

/** Starts an etcd with a quota of 8 GiB, which exits with this process. */
export async function startBenchEtcd(): Promise<EtcdCluster> {
  const etcd = await startEtcd({ arguments: ["--quota-backend-bytes=8589934592"] });
  const kill = (): void => etcd.members.forEach((member) => member.signal("SIGKILL"));
  process.on("exit", kill);
  const dispose = async (): Promise<void> => {
    process.off("exit", kill);
    await etcd[Symbol.asyncDispose]();
  };
  return { ...etcd, [Symbol.asyncDispose]: dispose };
}

/** Exits on SIGINT and SIGTERM, so that servers stop with this process. */
export function exitOnSignals(): void {
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));
}

/** Starts a server on a new etcd; stopping it stops both. */
export async function startOnEtcd(
  launcher: Launcher,
  folder: string,
  flags: readonly string[] = [],
): Promise<BenchServer & { readonly etcd: EtcdCluster }> {
  mkdirSync(folder, { recursive: true });
  const etcd = await startBenchEtcd();
  try {
    const server = await launcher({ etcd, folder, flags });
    const stop = async (): Promise<void> => {
      await server.stop();
      await etcd[Symbol.asyncDispose]();
    };
    return { ...server, etcd, stop };
  } catch (error) {
    await etcd[Symbol.asyncDispose]();
    throw error;
  }
}
