import { disconnectWorker, isWorker, limitHeapGrowth } from "#controlplane";
import type { CommandProgram } from "../flags/command-program.ts";
import { type CommandHelp, helpText } from "../flags/help.ts";
import { UsageError } from "../flags/parse.ts";
import { completionScript, type DescribedCommand, shells } from "./completion.ts";
import { manPage } from "./man-page.ts";
import { topics } from "./topics.ts";
import { takeVersion, versionFlags, versionText } from "./version-flag.ts";

/** Width of help in columns if standard output is not a terminal. */
const defaultColumns = 100;
const narrowestColumns = 80;

interface Command extends Omit<CommandHelp, "usage" | "groups"> {
  /** Description in the list of commands, one line. */
  readonly summary: string;
  /** Arguments other than flags, as shown in the usage line. */
  readonly arguments?: string;
  /** Whether the command has the flag `--version`, as Kubernetes' programs do. */
  readonly hasVersionFlag?: boolean;
  /** Imports the command and the code that only it needs. */
  readonly load: () => Promise<CommandProgram>;
}

const commands: Readonly<Record<string, Command>> = {
  start: {
    summary: "run an API server, the controllers and the scheduler in one process (the default)",
    description:
      "Runs the Kubernetes API server, its controllers and the scheduler in one process, with " +
      "the embedded store unless --storage-backend selects another. The first start generates " +
      "certificates and a kubeconfig in --data-dir.",
    hasVersionFlag: true,
    load: async () => (await import("../apiserver/main.ts")).startCommand,
  },
  apiserver: {
    summary: "run a stateless API server on etcd, without controllers",
    description:
      "Runs a Kubernetes API server that stores its objects in etcd. Any number of replicas can " +
      "share one etcd, also with kube-apiserver. Flags are those of kube-apiserver.",
    hasVersionFlag: true,
    load: async () => (await import("../apiserver/main.ts")).apiserverCommand,
  },
  "controller-manager": {
    summary: "run the controllers against an API server",
    description:
      "Runs the controllers against the API server of --kubeconfig, with leader election among " +
      "processes. Flags are those of kube-controller-manager.",
    hasVersionFlag: true,
    load: async () => (await import("../controller-manager/main.ts")).controllerManagerCommand,
  },
  nodes: {
    summary: "run simulated nodes, whose pods reach Running without containers",
    description:
      "Runs simulated nodes against the API server of --kubeconfig, with Node objects, " +
      "heartbeats and pods that become Running and Ready. It runs no containers.",
    load: async () => (await import("../nodes/main.ts")).nodesCommand,
  },
  scheduler: {
    summary: "run the scheduler against an API server",
    description:
      "Assigns pods to nodes of the API server of --kubeconfig, with leader election among " +
      "processes. Flags and configuration are those of kube-scheduler.",
    hasVersionFlag: true,
    load: async () => (await import("../scheduler/main.ts")).schedulerCommand,
  },
  testserver: {
    summary: "run an API server in memory for tests in any language",
    description:
      "Runs an API server in memory and prints one line of JSON: url, ca, kubeconfig, token, " +
      "control and controlToken. The control interface forks and resets the server, injects " +
      "faults into requests, lists them and advances the clock. Exits on SIGTERM, or when a " +
      "pipe at its standard input closes.",
    load: async () => (await import("../testserver/main.ts")).testServerCommand,
  },
  record: {
    summary: "record the objects of a cluster in a directory, for keelson start --from",
    description:
      "Writes the objects of the cluster of --upstream to --dir, one YAML file each, with uids, " +
      "status and managedFields, but with replaced values of Secrets. `keelson start --from` " +
      "loads the directory. With --proxy, also serves the cluster on 127.0.0.1 and records the " +
      "requests.",
    load: async () => (await import("../record/main.ts")).recordCommand,
  },
  certificates: {
    summary: "create the certificates, keys and kubeconfigs of a cluster",
    description:
      "Creates the certificate authorities, certificates, service account key and kubeconfigs " +
      "that the programs of a cluster share. Valid files are not replaced.",
    load: async () => (await import("../certificates/main.ts")).certificatesCommand,
  },
  cluster: {
    summary: "run etcd, API servers, controller managers and a load balancer on this host",
    description:
      "Runs a local cluster of three etcd members, three API servers, two controller managers and " +
      "a load balancer as processes of this host. Needs etcd and haproxy on PATH.",
    load: async () => (await import("../cluster/main.ts")).clusterCommand,
  },
  envtest: {
    summary: "install kube-apiserver, etcd and kubectl for test suites that use envtest",
    description:
      "Writes the programs that controller-runtime's envtest starts into a directory, and prints " +
      'commands that set KUBEBUILDER_ASSETS and TEST_ASSET_*: eval "$(keelson envtest)". ' +
      "`use` has the output of setup-envtest.",
    arguments: "[use [version]]",
    load: async () => (await import("../envtest/main.ts")).envtestCommand,
  },
  codec: {
    summary: "convert objects between JSON, YAML, Protobuf and the stored form",
    description: "Converts each file, or standard input if there is none, to standard output.",
    arguments: "[file...]",
    load: async () => (await import("../codec/main.ts")).codecCommand,
  },
};

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

async function commandHelp(name: string, command: Command): Promise<string> {
  const columns = Math.max(process.stdout.columns ?? defaultColumns, narrowestColumns);
  const usage = ["keelson", name, "[flags]", command.arguments].filter(Boolean).join(" ");
  const { description } = command;
  return helpText({ description, usage, groups: await allGroups(command) }, columns);
}

/** Prints a help topic, the man page, or the flags of a command. */
async function help(subject: string): Promise<number> {
  if (subject !== "man" && !Object.hasOwn(topics, subject)) return main([subject, "--help"]);
  console.log(subject === "man" ? manPage(await describedCommands()) : topics[subject]);
  return 0;
}

/** `keelson completion SHELL`. */
async function complete([word, ...others]: readonly string[]): Promise<number> {
  const shell = shells.find((each) => each === word);
  if (shell === undefined || others.length > 0) {
    throw new UsageError(`keelson completion needs the name of a shell: ${shells.join(", ")}`);
  }
  const described = await describedCommands();
  const subjects = [...described.map(({ name }) => name), ...Object.keys(topics)];
  console.log(completionScript(shell, described, { help: subjects, completion: shells }));
  return 0;
}

async function describedCommands(): Promise<readonly DescribedCommand[]> {
  const described = Object.entries(commands).map(async ([name, command]) => ({
    name,
    summary: command.summary,
    description: command.description,
    groups: await allGroups(command),
  }));
  return Promise.all(described);
}

/** The flags of a command, `--version` included. */
async function allGroups({ hasVersionFlag, load }: Command): Promise<CommandProgram["groups"]> {
  const { groups } = await load();
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
    console.log(await commandHelp(name, command));
    return 0;
  }
  const { words: flags, version } = takeVersion(command.hasVersionFlag ? rest : []);
  if (version !== undefined) {
    console.log(version);
    return 0;
  }
  const { run } = await command.load();
  // Called after the imports, which allocate little garbage and would be slower with a small young
  // generation.
  limitHeapGrowth();
  await run(command.hasVersionFlag ? flags : rest);
  return 0;
}

/** The flag whose value was an argument of a failed system call, by call and error code. */
const otherChoices: ReadonlyMap<string, string> = new Map([
  ["listen EADDRINUSE", "--secure-port"],
  ["listen EACCES", "--secure-port"],
  ["listen EADDRNOTAVAIL", "--bind-address"],
  ["mkdir EACCES", "--data-dir"],
  ["mkdir ENOTDIR", "--data-dir"],
  ["mkdir EROFS", "--data-dir"],
]);

/** Runs the command that `words` name. A failure sets the exit code of the process. */
export async function runCommandLine(words: readonly string[]): Promise<void> {
  process.once("beforeExit", reportUnfinished);
  try {
    process.exitCode = await main(words);
  } catch (error) {
    const { isExpectedFault } = await import("./expected-faults.ts");
    const text = isExpectedFault(error) ? error.message : explain(error);
    console.error(`keelson: ${text}`);
    process.exitCode = 1;
  } finally {
    process.off("beforeExit", reportUnfinished);
    if (isWorker()) disconnectWorker();
  }
}

/** Node exits when nothing is left to wait for, with code 0 although the command has not ended. */
function reportUnfinished(): void {
  console.error("keelson: the command stopped before its end: nothing is left that it waits for");
  process.exitCode = 1;
}

/**
 * Returns one sentence for an error of a system call, and the stack of any other error, which is a
 * bug.
 */
function explain(error: unknown): string {
  const { code, syscall, message, stack } = error as NodeJS.ErrnoException;
  if (code === undefined) return stack ?? message;
  const flag = syscall === undefined ? undefined : otherChoices.get(`${syscall} ${code}`);
  return flag === undefined ? message : `${message}; choose another with ${flag}`;
}
