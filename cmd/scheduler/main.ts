import { featureGates } from "#api";
import { systemClock } from "#base";
import { timesFault } from "#client";
import {
  compactHeapWhenIdle,
  runSchedulerProgram,
  type SchedulerProgramOptions,
  standardLogger,
} from "#controlplane";
import { domainOf } from "#meta";
import { defaultSchedulerSettings, type SchedulerConfiguration } from "#scheduler";
import { kubeconfigEndpoint } from "../flags/kubeconfig-endpoint.ts";
import { untilSignal } from "../flags/until-signal.ts";
import { logFormat } from "../flags/logging-flags.ts";
import { type FlagValues, parseFlags, UsageError } from "../flags/parse.ts";
import { readSchedulerConfiguration } from "./configuration.ts";
import { schedulerFlags, schedulerGroups } from "./flags.ts";

type Values = FlagValues<typeof schedulerFlags>;

/**
 * `keelson scheduler`: assigns pods to nodes until SIGTERM or SIGINT; a second signal exits at once.
 * @throws UsageError for invalid flags and configurations, and when the Lease is lost
 */
async function runSchedulerCommand(words: readonly string[]): Promise<void> {
  const options = schedulerOptions(parseFlags(schedulerFlags, words));
  const signal = untilSignal();
  compactHeapWhenIdle(signal);
  await runSchedulerProgram(options, signal);
  if (!signal.aborted) throw new UsageError("leader election lost");
}

function schedulerOptions(values: Values): SchedulerProgramOptions {
  const domain = domainOf(values["api-domain"], values["label-domain"] || undefined);
  const configuration = readSchedulerConfiguration("config", values.config, domain);
  const kubeconfig = values.kubeconfig || (configuration?.kubeconfig ?? "");
  const endpoint = () => kubeconfigEndpoint(kubeconfig, { master: values.master });
  // Rejects an invalid kubeconfig before anything starts.
  endpoint();
  return {
    endpoint,
    settings: configuration?.settings ?? defaultSchedulerSettings,
    gate: featureGates(values["feature-gates"]),
    leaderElection: leaderElectionOf(values, configuration),
    requestsPerSecond: configuration?.requestsPerSecond ?? values["kube-api-qps"],
    burst: configuration?.burst ?? values["kube-api-burst"],
    serving: servingOf(values),
    domain,
    clock: systemClock,
    logger: standardLogger(logFormat(values["logging-format"]), values.v),
    onLeader: (leader, isOwn) => console.log(`keelson: ${isOwn ? "leading" : `${leader} leads`}`),
  };
}

function leaderElectionOf(
  values: Values,
  configuration: SchedulerConfiguration | undefined,
): SchedulerProgramOptions["leaderElection"] {
  const { leaderElect = values["leader-elect"], ...given } = configuration?.leaderElection ?? {};
  if (!leaderElect) return undefined;
  const election = {
    leaseDurationMs: values["leader-elect-lease-duration"],
    renewDeadlineMs: values["leader-elect-renew-deadline"],
    retryPeriodMs: values["leader-elect-retry-period"],
    namespace: values["leader-elect-resource-namespace"],
    name: values["leader-elect-resource-name"],
    ...given,
  };
  const fault = timesFault(election);
  if (fault !== undefined) throw new UsageError(`--leader-elect: ${fault}`);
  return election;
}

function servingOf(values: Values): SchedulerProgramOptions["serving"] {
  if (values["secure-port"] === 0) return undefined;
  const directory = values["cert-dir"];
  return {
    host: values["bind-address"],
    port: values["secure-port"],
    ...(directory === "" ? {} : { certificateDirectory: directory }),
    clientCa: "",
  };
}

export const schedulerCommand = { groups: schedulerGroups, run: runSchedulerCommand } as const;
