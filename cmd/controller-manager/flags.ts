import { selectControllers } from "#controllers";
import { domainFlags } from "../flags/domain-flags.ts";
import type { FlagGroup } from "../flags/help.ts";
import { leaderElectionTimeFlags } from "../flags/leader-election-flags.ts";
import { loggingFlags } from "../flags/logging-flags.ts";
import { flag } from "../flags/parse.ts";
import { controllerFlags } from "./controller-flags.ts";

const atLeast1 = { minimum: 1 };
const everyController = selectControllers(["*", "bootstrapsigner", "tokencleaner"]);
const names = (isOn: boolean) =>
  everyController.filter((each) => each.enabledByDefault === isOn).map(({ name }) => name);

/** `--controllers`, shared by `keelson controller-manager` and `keelson start`. */
export const controllersFlag = flag(
  "list",
  ["*"],
  "controllers to run, comma-separated: * = all that are enabled by default, foo adds controller " +
    "foo, -foo removes it; names and aliases of kube-controller-manager. All controllers: " +
    `${everyController.map(({ name }) => name).join(", ")}. Disabled by default: ` +
    names(false).join(", "),
);

const genericFlags = {
  kubeconfig: flag("string", "", "kubeconfig file with the API server and the credentials for it"),
  master: flag("string", "", "URL of the API server; overrides the one in --kubeconfig"),
  controllers: controllersFlag,
  "kube-api-content-type": flag(
    "string",
    "",
    "accepted without effect: requests are sent as application/json",
    { values: ["", "application/json", "application/vnd.kubernetes.protobuf"] },
  ),
  "kube-api-qps": flag(
    "int",
    20,
    "maximum average number of requests per second to the API server, per controller",
    atLeast1,
  ),
  "kube-api-burst": flag(
    "int",
    30,
    "maximum burst of requests to the API server above --kube-api-qps, per controller",
    atLeast1,
  ),
  "leader-elect": flag("bool", true, "run the controllers only while this process holds the Lease"),
  ...leaderElectionTimeFlags,
  "leader-elect-resource-lock": flag("string", "leases", "type of the lock object", {
    values: ["leases"],
  }),
  "leader-elect-resource-name": flag("string", "kube-controller-manager", "name of the Lease"),
  "leader-elect-resource-namespace": flag("string", "kube-system", "namespace of the Lease"),
  "use-service-account-credentials": flag(
    "bool",
    false,
    "run each controller with its own service account in kube-system",
  ),
  "feature-gates": flag(
    "pairs",
    new Map(),
    "feature gates to enable or disable, as name=true|false pairs; CoordinatedLeaderElection, " +
      "DRADeviceTaints and MaxUnavailableStatefulSet are used",
  ),
} as const;

const secureServingFlags = {
  "bind-address": flag("ip", "0.0.0.0", "IP address to serve health and metrics on"),
  "secure-port": flag(
    "int",
    10_257,
    "port to serve health and metrics on (HTTPS); 0 = do not serve",
    {
      minimum: 0,
      maximum: 65_535,
    },
  ),
  "cert-dir": flag(
    "string",
    "",
    "directory of the generated serving certificate; ignored with --tls-cert-file (default: it " +
      "is kept in memory)",
  ),
  "tls-cert-file": flag("string", "", "file with the serving certificate (PEM)"),
  "tls-private-key-file": flag("string", "", "file with the private key of --tls-cert-file (PEM)"),
  "client-ca-file": flag(
    "string",
    "",
    "file with the CA certificates that verify client certificates (PEM)",
  ),
} as const;

export const controllerManagerGroups: readonly FlagGroup[] = [
  { heading: "Generic", flags: genericFlags },
  { heading: "Secure serving", flags: secureServingFlags },
  { heading: "Controller", flags: controllerFlags },
  { heading: "Logs", flags: loggingFlags },
  { heading: "Misc", flags: domainFlags },
];

/** Flags with kube-controller-manager's names, meanings and defaults. */
export const controllerManagerFlags = {
  ...genericFlags,
  ...secureServingFlags,
  ...controllerFlags,
  ...loggingFlags,
  ...domainFlags,
} as const;
