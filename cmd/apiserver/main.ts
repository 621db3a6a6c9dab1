import path from "node:path";
import {
  allowHeapGrowth,
  announceReady,
  isWorker,
  type RunningServer,
  runWorkers,
  type StartOptions,
  startServer,
  toStartError,
  writeFileAtomically,
} from "#controlplane";
import { domainOf } from "#meta";
import { defaultSchedulerSettings } from "#scheduler";
import type { CloseOptions } from "#server";
import { localControllerOptions } from "../controller-manager/local-flags.ts";
import { type FlagValues, parseFlags } from "../flags/parse.ts";
import { simulationSettings } from "../nodes/flags.ts";
import { readSchedulerConfiguration } from "../scheduler/configuration.ts";
import { acceptedFlags, acceptedIn } from "./accepted-flags.ts";
import { apiserverFlags, apiserverGroups } from "./flags.ts";
import { shutdownOptions, startFlags, startGroups, startOptions } from "./options.ts";

/** Grace period of accepted requests after SIGTERM, in milliseconds. */
const graceMs = 5000;

/**
 *  `keelson start`: runs an API server, the controllers and the scheduler in this process until a
 * signal.
 */
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

/** `keelson apiserver`: runs an API server without controllers until a signal. */
async function runApiserver(words: readonly string[]): Promise<void> {
  const values = parseFlags({ ...acceptedFlags, ...apiserverFlags }, words) as ApiserverValues;
  warnOfFlags(words, values);
  const options = { ...startOptions(values), controllers: false };
  // Standard error, because standard output may be the audit log (--audit-log-path=-).
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

/** Warns in one line of flags that have no effect. */
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
  // A terminal sends SIGINT to the workers as well, which wait for SIGTERM from the primary
  // process.
  if (isWorker()) process.on("SIGINT", () => undefined);
  const signals = isWorker() ? (["SIGTERM"] as const) : (["SIGTERM", "SIGINT"] as const);
  await new Promise<void>((resolve) => {
    for (const signal of signals) process.once(signal, () => resolve());
  });
  for (const signal of signals) process.once(signal, () => process.exit(1));
}

export const startCommand = { groups: startGroups, run: runStart } as const;
export const apiserverCommand = { groups: apiserverGroups, run: runApiserver } as const;
