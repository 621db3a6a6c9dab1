import { usualTimes } from "#client";
import { signingDurationMs, defaultControllerSettings } from "#controllers";
import { loggingFlags } from "../flags/logging-flags.ts";
import { flag } from "../flags/parse.ts";

/** Names, meanings and defaults are those of kube-controller-manager. */
export const controllerManagerFlags = {
  kubeconfig: flag("string", "", "file that says where the API is and who this program is there"),
  master: flag("string", "", "URL of the API, instead of the one in the kubeconfig"),
  controllers: flag(
    "list",
    [],
    "which controllers run: * = the usual ones, foo = also foo, -foo = not foo (default *)",
  ),
  "concurrent-namespace-syncs": flag(
    "int",
    defaultControllerSettings.namespaceWorkers,
    "namespaces that are emptied at a time",
    { minimum: 1 },
  ),
  "concurrent-gc-syncs": flag(
    "int",
    defaultControllerSettings.garbageCollectorWorkers,
    "objects that the garbage collector looks after at a time",
    { minimum: 1 },
  ),
  "concurrent-resource-quota-syncs": flag(
    "int",
    defaultControllerSettings.quotaWorkers,
    "quotas that are counted at a time",
    { minimum: 1 },
  ),
  "resource-quota-sync-period": flag(
    "duration",
    defaultControllerSettings.quotaResyncMs,
    "after which all quotas are counted again",
  ),
  "leader-elect": flag("bool", true, "run controllers only while holding a Lease"),
  "leader-elect-lease-duration": flag(
    "duration",
    usualTimes.leaseDurationMs,
    "how long others wait after the last renewal before they take the Lease",
  ),
  "leader-elect-renew-deadline": flag(
    "duration",
    usualTimes.renewDeadlineMs,
    "how long a leader tries to renew the Lease before it stops leading",
  ),
  "leader-elect-retry-period": flag(
    "duration",
    usualTimes.retryPeriodMs,
    "between attempts to take or renew it",
  ),
  "leader-elect-resource-lock": flag("string", "leases", "what is held", { values: ["leases"] }),
  "leader-elect-resource-name": flag("string", "kube-controller-manager", "name of the Lease"),
  "leader-elect-resource-namespace": flag("string", "kube-system", "namespace of the Lease"),
  "use-service-account-credentials": flag(
    "bool",
    false,
    "every controller works as a service account of its own",
  ),
  "root-ca-file": flag("string", "", "authorities of the API, told to all namespaces"),
  "service-account-private-key-file": flag(
    "string",
    "",
    "key that signs the tokens that lie in Secrets",
  ),
  "cluster-signing-cert-file": flag(
    "string",
    "",
    "authority that signs the certificates of clients and kubelets",
  ),
  "cluster-signing-key-file": flag("string", "", "its key"),
  "cluster-signing-duration": flag(
    "duration",
    signingDurationMs,
    "the longest life of such certificates",
  ),
  "kube-api-qps": flag("int", 20, "requests to the API per second in the long run", { minimum: 1 }),
  "kube-api-burst": flag("int", 30, "requests to the API at once", { minimum: 1 }),
  "bind-address": flag("ip", "0.0.0.0", "address for health and metrics"),
  "secure-port": flag("int", 10_257, "port for health and metrics; 0 = none", {
    minimum: 0,
    maximum: 65_535,
  }),
  "tls-cert-file": flag("string", "", "serving certificate; without it one is made"),
  "tls-private-key-file": flag("string", "", "key of the serving certificate"),
  "client-ca-file": flag("string", "", "authorities of clients that come with certificates"),
  "feature-gates": flag("pairs", new Map(), "features on or off: CoordinatedLeaderElection=true"),
  ...loggingFlags,
  "api-domain": flag("string", "k8s.io", "suffix of API group names"),
  "label-domain": flag("string", "", "suffix of labels; default: follows from --api-domain"),
} as const;
