import { systemClock } from "#base";
import { recordCluster, standardLogger } from "#controlplane";
import { domainOf } from "#meta";
import type { FlagGroup } from "../flags/help.ts";
import { kubeconfigEndpoint } from "../flags/kubeconfig-endpoint.ts";
import { logFormat, loggingFlags } from "../flags/logging-flags.ts";
import { flag, parseFlags, UsageError } from "../flags/parse.ts";
import { untilSignal } from "../flags/until-signal.ts";

const recordFlags = {
  upstream: flag("string", "", "kubeconfig file with the API server and the credentials for it"),
  dir: flag("string", "", "directory to write to; it must be empty or absent"),
  namespaces: flag(
    "list",
    [],
    "namespaces to record, comma-separated; empty = all namespaces and cluster-scoped objects",
  ),
  kinds: flag(
    "list",
    [],
    "kinds or resources to record, comma-separated, as deployments, pods or widgets.example.com; " +
      "* = all except Events, Leases, IPAddresses and ServiceCIDRs (default: *). With " +
      "--namespaces, cluster-scoped kinds are recorded only if listed here",
  ),
  watch: flag("bool", false, "record changes as well, until SIGTERM or SIGINT"),
  proxy: flag(
    "bool",
    false,
    "proxy the API server on 127.0.0.1 for kubectl and controllers and record changes, until " +
      "SIGTERM or SIGINT; writes proxy.kubeconfig for clients and requests.jsonl with their " +
      "requests to --dir",
  ),
  "secure-port": flag("int", 0, "port of --proxy on 127.0.0.1; 0 = any free one"),
} as const;

const allFlags = { ...recordFlags, ...loggingFlags } as const;

const recordGroups: readonly FlagGroup[] = [
  { heading: "Recording", flags: recordFlags },
  { heading: "Logs", flags: loggingFlags },
];

/**
 * `keelson record`: writes the objects of a cluster to a directory; with `--proxy`, forwards
 * requests to it.
 * @throws UsageError for invalid flags
 */
async function runRecord(words: readonly string[]): Promise<void> {
  const values = parseFlags(allFlags, words);
  const { dir: directory, namespaces, kinds, watch, "secure-port": port } = values;
  if (directory === "") throw new UsageError("--dir must be set");
  const endpoint = kubeconfigEndpoint(values.upstream, { flagName: "upstream" });
  if (port !== 0 && !values.proxy) throw new UsageError("--secure-port needs --proxy");
  const ready = (kubeconfig: string) =>
    console.log(`keelson: proxy ready: KUBECONFIG=${kubeconfig}`);
  const options = {
    endpoint,
    directory,
    namespaces,
    kinds,
    watch,
    ...(values.proxy ? { proxy: { port, ready } } : {}),
    domain: domainOf(),
    clock: systemClock,
    logger: standardLogger(logFormat(values["logging-format"]), values.v),
    recorded: (objects: number) =>
      console.log(`keelson: recorded ${objects} objects in ${directory}`),
  };
  await recordCluster(options, untilSignal());
}

export const recordCommand = { groups: recordGroups, run: runRecord } as const;
