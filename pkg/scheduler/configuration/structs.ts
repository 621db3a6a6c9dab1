/** Fields of KubeSchedulerConfiguration v1. */
import { duration, rawExtension } from "#meta";
import {
  bool,
  bytes,
  double,
  type Infer,
  int32,
  int64,
  list,
  pointer,
  string,
  structs,
} from "#schema";
import { byExtensionPoint, titleOf } from "../framework/extension-points.ts";

const v1 = structs("kube-scheduler/config/v1");

const pluginStruct = v1("Plugin", "Plugin of an extension point.", {
  name: pointer(1, string, "Name of the plugin."),
  weight: pointer(2, int32, "Weight of its scores."),
});

const pluginSetStruct = v1("PluginSet", "Plugins of an extension point.", {
  enabled: pointer(1, list(pluginStruct), "Plugins to add to the default ones."),
  disabled: pointer(2, list(pluginStruct), "Default plugins to disable; * = all."),
});

const pluginsStruct = v1("Plugins", "Plugins by extension point.", {
  ...byExtensionPoint((point) => pointer(1, pluginSetStruct, `Plugins at ${titleOf(point)}.`)),
  multiPoint: pointer(
    1,
    pluginSetStruct,
    "Plugins to enable at all extension points that they implement.",
  ),
});

const profileStruct = v1(
  "KubeSchedulerProfile",
  "Scheduler that pods select by spec.schedulerName.",
  {
    schedulerName: pointer(1, string, "Name in spec.schedulerName of pods."),
    percentageOfNodesToScore: pointer(
      2,
      int32,
      "Percentage of nodes to find feasible before scoring.",
    ),
    plugins: pointer(3, pluginsStruct, "Plugins to enable and disable."),
    pluginConfig: pointer(
      4,
      list(
        v1("PluginConfig", "Arguments of a plugin.", {
          name: pointer(1, string, "Name of the plugin."),
          args: pointer(2, rawExtension, "Its arguments."),
        }),
      ),
      "Arguments of plugins.",
    ),
  },
);

const extenderStruct = v1("Extender", "HTTP service that extends the scheduler.", {
  urlPrefix: pointer(1, string, "URL that the verbs are appended to."),
  filterVerb: pointer(2, string, "Path of the filter call; empty = not supported."),
  preemptVerb: pointer(3, string, "Path of the preempt call; empty = not supported."),
  prioritizeVerb: pointer(4, string, "Path of the prioritize call; empty = not supported."),
  weight: pointer(5, int64, "Weight of its scores."),
  bindVerb: pointer(6, string, "Path of the bind call; empty = not supported."),
  enableHTTPS: pointer(7, bool, "Whether HTTPS is used."),
  tlsConfig: pointer(
    8,
    v1("ExtenderTLSConfig", "TLS of an extender.", {
      insecure: pointer(1, bool, "Whether its certificate is not verified."),
      serverName: pointer(2, string, "Name to verify; empty = the host of the URL."),
      certFile: pointer(3, string, "File of the client certificate."),
      keyFile: pointer(4, string, "File of its key."),
      caFile: pointer(5, string, "File of the trusted certificate authorities."),
      certData: pointer(6, bytes, "PEM of the client certificate; overrides the file."),
      keyData: pointer(7, bytes, "PEM of its key; overrides the file."),
      caData: pointer(8, bytes, "PEM of the authorities; overrides the file."),
    }),
    "TLS of the extender.",
  ),
  httpTimeout: pointer(9, duration, "Timeout of a call; default 5s."),
  nodeCacheCapable: pointer(
    10,
    bool,
    "Whether the extender caches nodes, so that requests contain only names.",
  ),
  managedResources: pointer(
    11,
    list(
      v1("ExtenderManagedResource", "Extended resource that an extender manages.", {
        name: pointer(1, string, "Name of the resource."),
        ignoredByScheduler: pointer(2, bool, "Whether NodeResourcesFit ignores it."),
      }),
    ),
    "Resources of the pods for which the extender is called; empty = all pods.",
  ),
  ignorable: pointer(12, bool, "Whether scheduling continues if the extender fails."),
});

const leaderElectionStruct = v1("LeaderElectionConfiguration", "Leader election.", {
  leaderElect: pointer(1, bool, "Whether leader election is enabled."),
  leaseDuration: pointer(2, duration, "Time for which a lease is valid."),
  renewDeadline: pointer(3, duration, "Time for which the leader retries to renew it."),
  retryPeriod: pointer(4, duration, "Time between attempts."),
  resourceLock: pointer(5, string, "leases."),
  resourceName: pointer(6, string, "Name of the Lease."),
  resourceNamespace: pointer(7, string, "Namespace of the Lease."),
});

const connectionStruct = v1("ClientConnectionConfiguration", "Connection to the API server.", {
  kubeconfig: pointer(1, string, "Kubeconfig file with server and credentials."),
  acceptContentTypes: pointer(2, string, "Accepted media types; has no effect."),
  contentType: pointer(3, string, "Media type of requests; has no effect."),
  qps: pointer(4, double, "Requests per second."),
  burst: pointer(5, int32, "Maximum burst of requests above the rate."),
});

export const configurationStruct = v1("KubeSchedulerConfiguration", "A scheduler.", {
  parallelism: pointer(1, int32, "Threads of the algorithms; has no effect."),
  leaderElection: pointer(2, leaderElectionStruct, "Leader election."),
  clientConnection: pointer(3, connectionStruct, "Connection to the API server."),
  enableProfiling: pointer(4, bool, "Whether profiles are served; has no effect."),
  enableContentionProfiling: pointer(5, bool, "Whether locks are profiled; has no effect."),
  percentageOfNodesToScore: pointer(
    6,
    int32,
    "Percentage of nodes to find feasible before scoring.",
  ),
  podInitialBackoffSeconds: pointer(7, int64, "Initial backoff of an unschedulable pod."),
  podMaxBackoffSeconds: pointer(8, int64, "Maximum backoff."),
  profiles: pointer(9, list(profileStruct), "Profiles, which pods select by spec.schedulerName."),
  extenders: pointer(10, list(extenderStruct), "Extenders."),
  delayCacheUntilActive: pointer(
    11,
    bool,
    "Whether caches start only when leading; has no effect.",
  ),
});

export type Configuration = Infer<typeof configurationStruct>;
export type ProfileConfiguration = Infer<typeof profileStruct>;
export type ExtenderConfiguration = Infer<typeof extenderStruct>;
export type PluginSetConfiguration = Infer<typeof pluginSetStruct>;
