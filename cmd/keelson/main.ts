#!/usr/bin/env node
import path from "node:path";
import { AdmissionPluginError } from "#admission";
import { FeatureGateError } from "#api";
import { type CloseOptions, versionInfo } from "#server";
import { apiserverFlags } from "../apiserver/flags.ts";
import { startFlags, startOptions } from "../apiserver/options.ts";
import { ConfigurationFault } from "#meta";
import { certificatesFlags, runCertificates } from "../certificates/main.ts";
import {
  CodecError,
  ProcessEndedError,
  FileError,
  isWorker,
  limitHeapGrowth,
  disconnectWorker,
  allowHeapGrowth,
  MissingProgramError,
  RuntimeConfigError,
  type RunningServer,
  runWorkers,
  type StartOptions,
  startServer,
  toStartError,
  StartError,
  announceReady,
  WorkerError,
  writeFileAtomically,
} from "#controlplane";
import { clusterFlags, runCluster } from "../cluster/main.ts";
import { codecFlags, runCodec } from "../codec/main.ts";
import { controllerManagerFlags } from "../controller-manager/flags.ts";
import { runControllerManager } from "../controller-manager/main.ts";
import { describeFlags, type Flags, parseFlags, UsageError } from "../flags/parse.ts";

/** How long accepted requests may take after the signal to end. */
const graceMs = 5000;

interface Command {
  readonly caption: string;
  readonly flags: Flags;
  readonly run: (words: readonly string[]) => Promise<void>;
}

const commands: Readonly<Record<string, Command>> = {
  start: {
    caption: "all in one process on the embedded store (the default)",
    flags: startFlags,
    run: runStart,
  },
  apiserver: {
    caption: "a stateless API server over etcd",
    flags: apiserverFlags,
    run: runApiserver,
  },
  "controller-manager": {
    caption: "the controllers, for API servers that do not run them",
    flags: controllerManagerFlags,
    run: runControllerManager,
  },
  certificates: {
    caption: "makes the certificates, keys and kubeconfigs of a cluster",
    flags: certificatesFlags,
    run: runCertificates,
  },
  cluster: {
    caption: "etcd, API servers, controller managers and a balancer on this machine",
    flags: clusterFlags,
    run: runCluster,
  },
  codec: {
    caption: "converts objects between json, yaml, protobuf and the stored form",
    flags: codecFlags,
    run: runCodec,
  },
};

async function runStart(words: readonly string[]): Promise<void> {
  const values = parseFlags(startFlags, words);
  if (values.workers > 1) {
    throw new UsageError("--workers: start is one process; keelson apiserver may be several");
  }
  const server = await started({ ...startOptions(values), controllers: true });
  const ended = signalled();
  if (values["storage-backend"] === "memory") {
    console.log(server.kubeconfig);
    console.error(`keelson: ${server.url} is ready; its kubeconfig is what was just printed`);
  } else {
    const file = path.join(values["data-dir"], "kubeconfig");
    await writeFileAtomically(file, server.kubeconfig, 0o600);
    const shown = path.relative(process.cwd(), file);
    console.log(
      `keelson: ${server.url} is ready; try: kubectl --kubeconfig ${shown} get namespaces`,
    );
  }
  await endWhen(ended, server, {});
}

async function runApiserver(words: readonly string[]): Promise<void> {
  const values = parseFlags(apiserverFlags, words);
  const options = { ...startOptions(values), controllers: false };
  const ready = (url: string) => console.log(`keelson: API server ready on ${url}`);
  if (values.workers > 1 && !isWorker()) return runWorkersUntilSignalled(values.workers, ready);
  const server = await started(options);
  const ended = signalled();
  if (isWorker()) announceReady(server.url);
  else ready(server.url);
  await endWhen(ended, server, {
    delayMs: values["shutdown-delay-duration"],
    spreadMs: values["shutdown-watch-termination-grace-period"],
  });
}

async function started(options: StartOptions): Promise<RunningServer> {
  try {
    const server = await startServer(options);
    allowHeapGrowth();
    return server;
  } catch (error) {
    throw toStartError(error, options.storage);
  }
}

function runWorkersUntilSignalled(count: number, ready: (url: string) => void): Promise<void> {
  const log = (line: string) => console.error(`keelson: ${line}`);
  const onReady = (url: string, processes: readonly number[]) => {
    log(`workers ${processes.join(", ")}`);
    ready(url);
  };
  return runWorkers({ count, onReady, log, signalled: signalled() });
}

/** Serves until it is told to end, for which it has to listen before it says that it is ready. */
async function endWhen(
  ended: Promise<void>,
  server: RunningServer,
  ending: CloseOptions,
): Promise<void> {
  await ended;
  const { delayMs = 0, spreadMs = 0 } = ending;
  await server.close({ graceMs: graceMs + spreadMs, delayMs, spreadMs });
}

/** Resolves at SIGTERM or SIGINT; a second signal ends the process at once. */
async function signalled(): Promise<void> {
  // A terminal sends SIGINT to workers, too, which wait for their turn.
  if (isWorker()) process.on("SIGINT", () => undefined);
  const signals = isWorker() ? (["SIGTERM"] as const) : (["SIGTERM", "SIGINT"] as const);
  await new Promise<void>((resolve) => {
    for (const signal of signals) process.once(signal, () => resolve());
  });
  for (const signal of signals) process.once(signal, () => process.exit(1));
}

function usage(): string {
  const list = Object.entries(commands).map(
    ([name, { caption }]) => `  ${name.padEnd(19)} ${caption}`,
  );
  return [
    "keelson serves the Kubernetes API.",
    "",
    "Usage: keelson [command] [flags]",
    "",
    ...list,
    "",
    "`keelson <command> --help` lists the flags of a command, `keelson version` the release.",
  ].join("\n");
}

async function main(words: readonly string[]): Promise<number> {
  const [first = "start"] = words;
  if (["help", "--help", "-h"].includes(first) && words.length === 1) {
    console.log(usage());
    return 0;
  }
  if (["version", "--version"].includes(first) && words.length === 1) {
    console.log(`keelson ${versionInfo().gitVersion}`);
    return 0;
  }
  const named = !first.startsWith("-");
  const command = Object.hasOwn(commands, named ? first : "start")
    ? commands[named ? first : "start"]
    : undefined;
  if (command === undefined) {
    console.error(`keelson: unknown command ${JSON.stringify(first)}; see keelson --help`);
    return 1;
  }
  const rest = named ? words.slice(1) : words;
  if (rest.includes("--help") || rest.includes("-h")) {
    console.log(describeFlags(command.flags));
    return 0;
  }
  await command.run(rest);
  return 0;
}

/** Flags that lead away from what the system refuses. */
const otherChoices: ReadonlyMap<string, string> = new Map([
  ["listen EADDRINUSE", "--secure-port"],
  ["listen EACCES", "--secure-port"],
  ["listen EADDRNOTAVAIL", "--bind-address"],
  ["mkdir EACCES", "--data-dir"],
  ["mkdir ENOTDIR", "--data-dir"],
  ["mkdir EROFS", "--data-dir"],
]);

limitHeapGrowth();

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const faults = [
    AdmissionPluginError,
    CodecError,
    ConfigurationFault,
    ProcessEndedError,
    FeatureGateError,
    FileError,
    MissingProgramError,
    RuntimeConfigError,
    StartError,
    UsageError,
    WorkerError,
  ];
  const expected = faults.some((fault) => error instanceof fault);
  console.error(`keelson: ${expected ? (error as Error).message : explain(error)}`);
  process.exitCode = 1;
} finally {
  if (isWorker()) disconnectWorker();
}

/**
 * Faults of the environment in one sentence; anything else is a bug and shows where it happened.
 */
function explain(error: unknown): string {
  const { code, syscall, message, stack } = error as NodeJS.ErrnoException;
  if (code === undefined) return stack ?? message;
  const flag = syscall === undefined ? undefined : otherChoices.get(`${syscall} ${code}`);
  return flag === undefined ? message : `${message}; choose another with ${flag}`;
}
