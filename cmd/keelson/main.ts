#!/usr/bin/env node
import path from "node:path";
import { AdmissionPluginError } from "#admission";
import { FeatureGateError } from "#api";
import type { CloseOptions } from "#server";
import { acceptedFlags, acceptedIn } from "../apiserver/accepted-flags.ts";
import { apiserverFlags, apiserverGroups } from "../apiserver/flags.ts";
import { shutdownOptions, startFlags, startGroups, startOptions } from "../apiserver/options.ts";
import { ConfigurationFault, domainOf } from "#meta";
import { defaultSchedulerSettings } from "#scheduler";
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
  RecordError,
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
import { controllerManagerGroups } from "../controller-manager/flags.ts";
import { localControllerOptions } from "../controller-manager/local-flags.ts";
import { runControllerManager } from "../controller-manager/main.ts";
import { envtestFlags, runEnvtest } from "../envtest/main.ts";
import { nodesGroups, runNodesCommand } from "../nodes/main.ts";
import { simulationSettings } from "../nodes/flags.ts";
import { readSchedulerConfiguration } from "../scheduler/configuration.ts";
import { recordGroups, runRecord } from "../record/main.ts";
import { schedulerGroups } from "../scheduler/flags.ts";
import { runSchedulerCommand } from "../scheduler/main.ts";
import { type CommandHelp, helpText } from "../flags/help.ts";
import { type FlagValues, parseFlags, UsageError } from "../flags/parse.ts";
import { completionScript, type DescribedCommand, shells } from "./completion.ts";
import { manPage } from "./man-page.ts";
import { topics } from "./topics.ts";
import { takeVersion, versionFlags, versionText } from "./version-flag.ts";

/** Time that accepted requests have to finish after SIGTERM. */
const graceMs = 5000;
/** Width of help where standard output is no terminal. */
const defaultColumns = 100;
const narrowestColumns = 80;

interface Command extends Omit<CommandHelp, "usage"> {
  /** One line in the list of commands. */
  readonly summary: string;
  /** Arguments beside flags, as in the usage line. */
  readonly arguments?: string;
  /** Whether `--version` is a flag of the command, as it is of Kubernetes' programs. */
  readonly hasVersionFlag?: boolean;
  readonly run: (words: readonly string[]) => Promise<void>;
}

const commands: Readonly<Record<string, Command>> = {
  start: {
    summary: "run an API server, the controllers and the scheduler in one process (the default)",
    description:
      "Runs the Kubernetes API server, its controllers and the scheduler in one process, " +
      "on the embedded store unless --storage-backend says otherwise. The first start " +
      "generates certificates and a kubeconfig in --data-dir.",
    groups: startGroups,
    hasVersionFlag: true,
    run: runStart,
  },
  apiserver: {
    summary: "run a stateless API server on etcd, without controllers",
    description:
      "Runs a Kubernetes API server that keeps its objects in etcd. Any number of replicas may " +
      "share one etcd, also with kube-apiserver. Flags are those of kube-apiserver.",
    groups: apiserverGroups,
    hasVersionFlag: true,
    run: runApiserver,
  },
  "controller-manager": {
    summary: "run the controllers for API servers that do not run them",
    description:
      "Runs the controllers against the API server of --kubeconfig, one process at a time by " +
      "leader election. Flags are those of kube-controller-manager.",
    groups: controllerManagerGroups,
    hasVersionFlag: true,
    run: runControllerManager,
  },
  nodes: {
    summary: "run simulated nodes, on which pods run as far as the API can tell",
    description:
      "Runs simulated nodes against the API server of --kubeconfig: Node objects, heartbeats, and " +
      "pods that become Running and Ready. No container runs.",
    groups: nodesGroups,
    run: runNodesCommand,
  },
  scheduler: {
    summary: "run the scheduler for API servers that do not run it",
    description:
      "Assigns pods to nodes of the API server of --kubeconfig, one process at a time by leader " +
      "election. Flags and configuration are those of kube-scheduler.",
    groups: schedulerGroups,
    hasVersionFlag: true,
    run: runSchedulerCommand,
  },
  record: {
    summary: "record the objects of a cluster in a folder, for keelson start --from",
    description:
      "Writes the objects of the cluster of --upstream to --dir, one YAML file each, with uids, " +
      "status and managedFields; the values of Secrets are replaced. `keelson start --from` loads " +
      "the folder.",
    groups: recordGroups,
    run: runRecord,
  },
  certificates: {
    summary: "make the certificates, keys and kubeconfigs of a cluster",
    description:
      "Makes the certificate authorities, certificates, service account key and kubeconfigs that " +
      "the programs of a cluster share. Files that are valid are kept.",
    groups: [{ heading: "Certificate", flags: certificatesFlags }],
    run: runCertificates,
  },
  cluster: {
    summary: "run etcd, API servers, controller managers and a load balancer on this host",
    description:
      "Runs a local cluster of three etcd members, three API servers, two controller managers and " +
      "a load balancer as processes of this host. Needs etcd and haproxy on PATH.",
    groups: [{ heading: "Cluster", flags: clusterFlags }],
    run: runCluster,
  },
  envtest: {
    summary: "lay out kube-apiserver, etcd and kubectl for test suites that use envtest",
    description:
      "Writes the programs that controller-runtime's envtest starts into a directory, and prints " +
      'commands that set KUBEBUILDER_ASSETS and TEST_ASSET_*: eval "$(keelson envtest)". ' +
      "`use` prints as setup-envtest does.",
    arguments: "[use [version]]",
    groups: [{ heading: "Envtest", flags: envtestFlags }],
    run: (words) => runEnvtest(words, { apiserver: runApiserver, start: runStart }),
  },
  codec: {
    summary: "convert objects between JSON, YAML, Protobuf and the stored form",
    description: "Converts each file, or standard input if there is none, to standard output.",
    arguments: "[file...]",
    groups: [{ heading: "Codec", flags: codecFlags }],
    run: runCodec,
  },
};

async function runStart(words: readonly string[]): Promise<void> {
  const values = parseFlags({ ...acceptedFlags, ...startFlags }, words) as StartValues;
  warnOfFlags(words, values);
  const { scheduler, "metrics-server": metricsServer } = values;
  const nodes = { count: values.nodes, ...simulationSettings(values) };
  const common = startOptions({ ...values, workers: 1 });
  const controllerManager = localControllerOptions(values);
  const domain = domainOf(values["api-domain"], values["label-domain"] || undefined);
  const file = values["scheduler-config"];
  const configuration = readSchedulerConfiguration("scheduler-config", file, domain);
  const schedulerSettings = configuration?.settings ?? defaultSchedulerSettings;
  const scheduling = { scheduler, schedulerSettings };
  const from = values.from === "" ? {} : { from: values.from };
  const local = {
    ...from,
    controllers: true,
    controllerManager,
    ...scheduling,
    metricsServer,
    nodes,
  };
  const server = await started({ ...common, ...local });
  const ended = signalled();
  if (values["storage-backend"] === "memory") {
    console.log(server.kubeconfig);
    console.error(`keelson: ${server.url} is ready; its kubeconfig was printed to standard output`);
  } else {
    const file = path.join(values["data-dir"], "kubeconfig");
    await writeFileAtomically(file, server.kubeconfig, 0o600);
    const shown = path.relative(process.cwd(), file);
    console.log(
      `keelson: ${server.url} is ready; try: kubectl --kubeconfig ${shown} get namespaces`,
    );
  }
  await endWhen(ended, server, shutdownOptions(values));
}

async function runApiserver(words: readonly string[]): Promise<void> {
  const values = parseFlags({ ...acceptedFlags, ...apiserverFlags }, words) as ApiserverValues;
  warnOfFlags(words, values);
  const options = { ...startOptions(values), controllers: false };
  // Standard output may be the audit log (--audit-log-path=-).
  const ready = (url: string) => console.error(`keelson: API server ready on ${url}`);
  if (values.workers > 1 && !isWorker()) return runWorkersUntilSignalled(values.workers, ready);
  const server = await started(options);
  const ended = signalled();
  if (isWorker()) announceReady(server.url);
  else ready(server.url);
  await endWhen(ended, server, shutdownOptions(values));
}

type StartValues = FlagValues<typeof startFlags>;
type ApiserverValues = FlagValues<typeof apiserverFlags>;

/** One line for flags that have no effect here. */
function warnOfFlags(words: readonly string[], values: StartValues | ApiserverValues): void {
  const accepted = acceptedIn(words, values);
  if (isWorker()) return;
  const log = (line: string) => console.error(`keelson: ${line}`);
  const listed = accepted.map((name) => `--${name}`).join(", ");
  if (accepted.length > 0) log(`flags without effect in Keelson: ${listed}`);
  if (values["storage-backend"] === "memory" && values["etcd-servers"].length > 0) {
    log("--etcd-servers is ignored with --storage-backend=memory");
  }
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

/** Serves until `ended` resolves, then shuts the server down. */
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
  // A terminal sends SIGINT to workers as well; they wait for SIGTERM of the primary process.
  if (isWorker()) process.on("SIGINT", () => undefined);
  const signals = isWorker() ? (["SIGTERM"] as const) : (["SIGTERM", "SIGINT"] as const);
  await new Promise<void>((resolve) => {
    for (const signal of signals) process.once(signal, () => resolve());
  });
  for (const signal of signals) process.once(signal, () => process.exit(1));
}

function usage(): string {
  const list = Object.entries(commands).map(
    ([name, { summary }]) => `  ${name.padEnd(19)} ${summary}`,
  );
  return [
    "Keelson serves the Kubernetes API.",
    "",
    "Usage:",
    "  keelson [command] [flags]",
    "",
    "Commands:",
    ...list,
    `  ${"help".padEnd(19)} show the flags of a command, or a topic`,
    `  ${"completion".padEnd(19)} print the completion script of a shell: ${shells.join(", ")}`,
    `  ${"version".padEnd(19)} show the version`,
    "",
    `Topics of "keelson help": ${Object.keys(topics).join(", ")}.`,
    'Use "keelson <command> --help" for the flags of a command.',
  ].join("\n");
}

function commandHelp(name: string, { arguments: others, ...command }: Command): string {
  const columns = Math.max(process.stdout.columns ?? defaultColumns, narrowestColumns);
  const usage = ["keelson", name, "[flags]", others].filter(Boolean).join(" ");
  return helpText({ ...command, usage, groups: allGroups(command) }, columns);
}

/** Shows a topic, the man page, or the flags of a command. */
function help(subject: string): Promise<number> | number {
  if (subject !== "man" && !Object.hasOwn(topics, subject)) return main([subject, "--help"]);
  console.log(subject === "man" ? manPage(describedCommands()) : topics[subject]);
  return 0;
}

/** `keelson completion SHELL`. */
function complete([word, ...others]: readonly string[]): number {
  const shell = shells.find((each) => each === word);
  if (shell === undefined || others.length > 0) {
    throw new UsageError(`keelson completion needs the name of a shell: ${shells.join(", ")}`);
  }
  const described = describedCommands();
  const subjects = [...described.map(({ name }) => name), ...Object.keys(topics)];
  console.log(completionScript(shell, described, { help: subjects, completion: shells }));
  return 0;
}

function describedCommands(): readonly DescribedCommand[] {
  return Object.entries(commands).map(([name, command]) => ({
    name,
    summary: command.summary,
    description: command.description,
    groups: allGroups(command),
  }));
}

/** The flags of a command, `--version` included. */
function allGroups({ hasVersionFlag, groups }: Command): Command["groups"] {
  return hasVersionFlag ? [...groups, { heading: "Version", flags: versionFlags }] : groups;
}

async function main(words: readonly string[]): Promise<number> {
  const [first = "start"] = words;
  if (first === "help" && words.length > 1) return help(words[1] as string);
  if (first === "completion") return complete(words.slice(1));
  if (["help", "--help", "-h"].includes(first)) {
    console.log(usage());
    return 0;
  }
  if (first === "version") {
    console.log(versionText("true"));
    return 0;
  }
  const isNamed = !first.startsWith("-");
  const name = isNamed ? first : "start";
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command === undefined) {
    console.error(`keelson: unknown command ${JSON.stringify(first)}; see keelson --help`);
    return 1;
  }
  const rest = isNamed ? words.slice(1) : words;
  if (rest.includes("--help") || rest.includes("-h")) {
    console.log(commandHelp(name, command));
    return 0;
  }
  const { words: flags, version } = takeVersion(command.hasVersionFlag ? rest : []);
  if (version !== undefined) {
    console.log(version);
    return 0;
  }
  await command.run(command.hasVersionFlag ? flags : rest);
  return 0;
}

/** The flag that sets what a failed system call was given. */
const otherChoices: ReadonlyMap<string, string> = new Map([
  ["listen EADDRINUSE", "--secure-port"],
  ["listen EACCES", "--secure-port"],
  ["listen EADDRNOTAVAIL", "--bind-address"],
  ["mkdir EACCES", "--data-dir"],
  ["mkdir ENOTDIR", "--data-dir"],
  ["mkdir EROFS", "--data-dir"],
]);

limitHeapGrowth();

// A single executable is CommonJS, which has no await outside of functions.
void run();

async function run(): Promise<void> {
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
      RecordError,
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
}

/** One sentence for errors of system calls; the stack for any other error, which is a bug. */
function explain(error: unknown): string {
  const { code, syscall, message, stack } = error as NodeJS.ErrnoException;
  if (code === undefined) return stack ?? message;
  const flag = syscall === undefined ? undefined : otherChoices.get(`${syscall} ${code}`);
  return flag === undefined ? message : `${message}; choose another with ${flag}`;
}
