import { domainFlags } from "../flags/domain-flags.ts";
import type { FlagGroup } from "../flags/help.ts";
import { leaderElectionTimeFlags } from "../flags/leader-election-flags.ts";
import { loggingFlags } from "../flags/logging-flags.ts";
import { flag } from "../flags/parse.ts";

const atLeast1 = { minimum: 1 };

const genericFlags = {
  config: flag(
    "string",
    "",
    "file with a KubeSchedulerConfiguration of kubescheduler.config.k8s.io/v1 (YAML or JSON): " +
      "profiles, plugins and their arguments; overrides the flags of leader election and of the " +
      "API client",
  ),
  kubeconfig: flag("string", "", "kubeconfig file with the API server and the credentials for it"),
  master: flag("string", "", "URL of the API server; overrides the one in --kubeconfig"),
  "kube-api-qps": flag(
    "int",
    50,
    "maximum average number of requests per second to the API server",
    atLeast1,
  ),
  "kube-api-burst": flag(
    "int",
    100,
    "maximum burst of requests to the API server above --kube-api-qps",
    atLeast1,
  ),
  "leader-elect": flag("bool", true, "schedule pods only while this process holds the Lease"),
  ...leaderElectionTimeFlags,
  "leader-elect-resource-name": flag("string", "kube-scheduler", "name of the Lease"),
  "leader-elect-resource-namespace": flag("string", "kube-system", "namespace of the Lease"),
  "feature-gates": flag(
    "pairs",
    new Map(),
    "feature gates to enable or disable, as name=true|false pairs; DRAAdminAccess, " +
      "DRAConsumableCapacity, DRADeviceTaints, DRAPartitionableDevices and DRAPrioritizedList " +
      "are used",
  ),
} as const;

const secureServingFlags = {
  "bind-address": flag("ip", "0.0.0.0", "IP address to serve health and metrics on"),
  "secure-port": flag(
    "int",
    10_259,
    "port to serve health and metrics on (HTTPS); 0 = do not serve",
    {
      minimum: 0,
      maximum: 65_535,
    },
  ),
  "cert-dir": flag(
    "string",
    "",
    "directory of the generated serving certificate (default: it is kept in memory)",
  ),
} as const;

export const schedulerGroups: readonly FlagGroup[] = [
  { heading: "Generic", flags: genericFlags },
  { heading: "Secure serving", flags: secureServingFlags },
  { heading: "Logs", flags: loggingFlags },
  { heading: "Misc", flags: domainFlags },
];

/** Flags with kube-scheduler's names, meanings and defaults. */
export const schedulerFlags = {
  ...genericFlags,
  ...secureServingFlags,
  ...loggingFlags,
  ...domainFlags,
} as const;
