import { systemClock } from "#base";
import { runRemoteNodes, type RemoteNodesOptions, standardLogger } from "#controlplane";
import { domainOf } from "#meta";
import { kubeconfigEndpoint } from "../flags/kubeconfig-endpoint.ts";
import { untilSignal } from "../flags/until-signal.ts";
import { logFormat, loggingFlags } from "../flags/logging-flags.ts";
import type { FlagGroup } from "../flags/help.ts";
import { flag, type FlagValues, parseFlags } from "../flags/parse.ts";
import { readNamed } from "../flags/read-named.ts";
import { maxNodes, simulationFlags, simulationSettings } from "./flags.ts";

const nodesFlags = {
  kubeconfig: flag("string", "", "kubeconfig file with the API server and the credentials for it"),
  count: flag("int", 1, "number of simulated nodes", { minimum: 1, maximum: maxNodes }),
  "node-ip": flag(
    "ip",
    "",
    "IP address that the nodes report and their kubelets listen on (default: the host's)",
  ),
  "wait-for-pod-cidr": flag(
    "bool",
    false,
    "assign pod IPs only from the podCIDR of the node, which node IPAM allocates " +
      "(kube-controller-manager --allocate-node-cidrs); until then pods stay in " +
      "ContainerCreating; if false, nodes without a podCIDR use a /24 of 10.128.0.0/9",
  ),
  "client-ca-file": flag(
    "string",
    "",
    "file with the CA certificates that verify clients of the kubelets (PEM); without it, the " +
      "nodes do not serve logs, exec and the like",
  ),
  "kube-api-qps": flag(
    "int",
    1_000,
    "maximum average number of requests per second to the API server",
    { minimum: 1 },
  ),
  "kube-api-burst": flag(
    "int",
    2_000,
    "maximum burst of requests to the API server above --kube-api-qps",
    {
      minimum: 1,
    },
  ),
} as const;

const allFlags = { ...nodesFlags, ...simulationFlags, ...loggingFlags } as const;

const nodesGroups: readonly FlagGroup[] = [
  { heading: "Nodes", flags: nodesFlags },
  { heading: "Simulation", flags: simulationFlags },
  { heading: "Logs", flags: loggingFlags },
];

/**
 * `keelson nodes`: runs simulated nodes against an API server until SIGTERM or SIGINT; a second
 * signal exits at once.
 * @throws UsageError for invalid flags
 */
async function runNodesCommand(words: readonly string[]): Promise<void> {
  const values = parseFlags(allFlags, words);
  const signal = untilSignal();
  await runRemoteNodes(optionsOf(values), signal);
}

function optionsOf(values: FlagValues<typeof allFlags>): RemoteNodesOptions {
  const clientCa = values["client-ca-file"];
  return {
    endpoint: kubeconfigEndpoint(values.kubeconfig),
    settings: {
      count: values.count,
      allocatesPodCidrs: values["wait-for-pod-cidr"],
      ...simulationSettings(values),
    },
    address: values["node-ip"] || undefined,
    clientCa: clientCa === "" ? "" : readNamed(clientCa, "client-ca-file"),
    requestsPerSecond: values["kube-api-qps"],
    burst: values["kube-api-burst"],
    domain: domainOf(),
    clock: systemClock,
    logger: standardLogger(logFormat(values["logging-format"]), values.v),
  };
}

export const nodesCommand = { groups: nodesGroups, run: runNodesCommand } as const;
