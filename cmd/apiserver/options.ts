import path from "node:path";
import type { ServiceNetwork } from "#registry";
import {
  type Flag,
  flag,
  type FlagType,
  type FlagValue,
  type FlagValues,
  UsageError,
} from "../flags/parse.ts";
import { readNamed } from "../flags/read-named.ts";
import {
  NetworkFlagError,
  serviceNetworkOf,
  type StartOptions,
  type StorageOptions,
} from "#controlplane";
import { cidrsOf, maxNodes, simulationFlags } from "../nodes/flags.ts";
import { aggregationOptions } from "./aggregation-flags.ts";
import { authenticationOptions, reloadedFile } from "./authentication-flags.ts";
import { authorizationOptions } from "./authorization-flags.ts";
import { auditOptions } from "./audit-flags.ts";
import { localControllerFlags } from "../controller-manager/local-flags.ts";
import type { FlagGroup } from "../flags/help.ts";
import { apiserverFlags, singleProcessFlags, singleProcessGroups } from "./flags.ts";
import { observingOptions } from "./observing-flags.ts";
import { checkWorkers, priorityAndFairness, sharedLimits } from "./sharing-flags.ts";

type Values = FlagValues<typeof apiserverFlags>;

const startDefaults = {
  "storage-backend": withDefault(apiserverFlags["storage-backend"], "embedded"),
  "bind-address": withDefault(apiserverFlags["bind-address"], "127.0.0.1"),
} as const;

const localFlags = {
  from: flag(
    "string",
    "",
    "directory of YAML and JSON files, such as a recording of `keelson record`, whose objects are " +
      "loaded into the empty store before the server is ready",
  ),
  scheduler: flag("bool", true, "schedule pods in this process; false = another scheduler does"),
  "scheduler-config": flag(
    "string",
    "",
    "file with a KubeSchedulerConfiguration of kubescheduler.config.k8s.io/v1 (YAML or JSON) for " +
      "--scheduler: profiles, plugins and their arguments, extenders, backoff; leaderElection " +
      "and clientConnection are ignored",
  ),
  "metrics-server": flag(
    "bool",
    false,
    "serve metrics.k8s.io with the simulated usage of pods, for `kubectl top` and " +
      "HorizontalPodAutoscalers",
  ),
  nodes: flag(
    "int",
    1,
    "number of simulated nodes, whose pods reach Running without containers; 0 = none, for " +
      "clusters with real kubelets",
    { minimum: 0, maximum: maxNodes },
  ),
  ...simulationFlags,
  "default-storage-class": withDefault(simulationFlags["default-storage-class"], "standard"),
} as const;

/** Flags of `keelson start`: those of one API server and of the controllers, for local use. */
export const startFlags = {
  ...singleProcessFlags,
  ...startDefaults,
  ...localFlags,
  ...localControllerFlags,
} as const;

const changedGroups: readonly FlagGroup[] = singleProcessGroups.map(({ heading, flags }) => ({
  heading,
  flags: Object.fromEntries(
    Object.entries(flags).map(([name, declared]) => [
      name,
      Object.hasOwn(startDefaults, name)
        ? startDefaults[name as keyof typeof startDefaults]
        : declared,
    ]),
  ),
}));

export const startGroups: readonly FlagGroup[] = [
  ...changedGroups,
  { heading: "Local cluster", flags: localFlags },
  { heading: "Controllers", flags: localControllerFlags },
];

function withDefault<T extends FlagType>(flag: Flag<T>, value: FlagValue<T>): Flag<T> {
  return { ...flag, default: value };
}

/** Options of graceful shutdown after SIGTERM, without the grace period of accepted requests. */
export function shutdownOptions(
  values: Pick<Values, "shutdown-delay-duration" | "shutdown-watch-termination-grace-period">,
): { readonly delayMs: number; readonly spreadMs: number } {
  return {
    delayMs: values["shutdown-delay-duration"],
    spreadMs: values["shutdown-watch-termination-grace-period"],
  };
}

/**
 * Translates flags into options of the server, and reads the files that they name.
 * @throws UsageError for mutually exclusive flags and for files that cannot be read
 */
export function startOptions(values: Values): StartOptions {
  checkWorkers(values);
  const inMemory = values["storage-backend"] === "memory";
  const pki = values["cert-dir"] || path.join(values["data-dir"], "pki");
  return {
    storage: storageOptions(values),
    ...(inMemory && values["cert-dir"] === "" ? {} : { certificateDirectory: pki }),
    host: values["bind-address"],
    port: values["secure-port"],
    ...certificateOptions(values),
    ...authenticationOptions(values),
    ...optional("tokens", readFlagFile(values, "token-auth-file")),
    ...optional("labelDomain", values["label-domain"] || undefined),
    http2: !values["disable-http2-serving"],
    tlsMinVersion: values["tls-min-version"] === "VersionTLS13" ? "TLSv1.3" : "TLSv1.2",
    anonymous: values["anonymous-auth"],
    bootstrapTokens: values["enable-bootstrap-token-auth"],
    ...optional("serviceAccounts", serviceAccountOptions(values)),
    ...authorizationOptions(values),
    ...aggregationOptions(values),
    ...optional("authorizationPolicies", readFlagFile(values, "authorization-policy-file")),
    admissionPlugins: {
      enable: values["enable-admission-plugins"],
      disable: values["disable-admission-plugins"],
      only: values["admission-control"],
    },
    ...optional("admissionConfiguration", admissionConfigurationOf(values)),
    ...optional("encryption", encryptionOf(values)),
    storageRoot: values["etcd-prefix"],
    storageMediaType: values["storage-media-type"] === "application/json" ? "json" : "protobuf",
    eventTtlSeconds: values["event-ttl"] / 1000,
    minRequestTimeoutMs: values["min-request-timeout"],
    compactionIntervalMs: values["etcd-compaction-interval"],
    apiDomain: values["api-domain"],
    runtimeConfig: values["runtime-config"],
    serviceNetwork: networkOf(values),
    ...optional("advertiseAddress", values["advertise-address"] || undefined),
    ...kubeletOptions(values),
    allowPrivileged: values["allow-privileged"],
    featureGates: values["feature-gates"],
    audit: auditOptions(values),
    ...observingOptions(values),
    ...optional("tracing", readFlagFile(values, "tracing-config-file")),
    lifecycle: {
      livezGraceMs: values["livez-grace-period"],
      goawayChance: values["goaway-chance"],
      retryAfterWhenClosing: values["shutdown-send-retry-after"],
    },
    priorityAndFairness: priorityAndFairness(values),
    limits: {
      ...sharedLimits(values),
      requestTimeout: values["request-timeout"],
    },
  };
}

/** Options of connections to kubelets and pods. @throws UsageError */
function kubeletOptions(
  values: Values,
): Pick<StartOptions, "kubelet" | "kubeletAddressTypes" | "portForwardTargets"> {
  return {
    kubelet: {
      ...optional("ca", readFlagFile(values, "kubelet-certificate-authority")),
      ...optional("cert", readFlagFile(values, "kubelet-client-certificate")),
      ...optional("key", readFlagFile(values, "kubelet-client-key")),
    },
    kubeletAddressTypes: values["kubelet-preferred-address-types"],
    ...optional("portForwardTargets", portForwardTargetsOf(values)),
  };
}

/** Undefined = the default of the server. @throws UsageError for an invalid CIDR */
function portForwardTargetsOf(values: Values): readonly string[] | undefined {
  const flagName = "simulated-port-forward-targets";
  const cidrs = cidrsOf(values[flagName], flagName);
  return cidrs.length === 0 ? undefined : cidrs;
}

/** Options of certificates that the server reloads when their files change. */
function certificateOptions(values: Values): Pick<StartOptions, "serving" | "clientCa"> {
  const {
    "tls-cert-file": certificate,
    "tls-private-key-file": privateKey,
    "client-ca-file": authorities,
  } = values;
  if ((certificate === "") !== (privateKey === "")) {
    throw new UsageError("--tls-cert-file and --tls-private-key-file must be given together");
  }
  const serving = certificate !== "" && {
    certificate: reloadedFile(certificate, "tls-cert-file"),
    privateKey: reloadedFile(privateKey, "tls-private-key-file"),
  };
  return {
    ...(serving && { serving }),
    ...(authorities === "" ? {} : { clientCa: reloadedFile(authorities, "client-ca-file") }),
  };
}

function serviceAccountOptions(values: Values): StartOptions["serviceAccounts"] {
  const maxSeconds = values["service-account-max-token-expiration"] / 1000;
  if (maxSeconds !== 0 && (maxSeconds < 3600 || maxSeconds > 2 ** 32)) {
    throw new UsageError(
      "--service-account-max-token-expiration must be between 1h and 2^32 seconds",
    );
  }
  return {
    issuers: values["service-account-issuer"],
    audiences: values["api-audiences"],
    keys: values["service-account-key-file"].map((file) =>
      readNamed(file, "service-account-key-file"),
    ),
    jwksUri: values["service-account-jwks-uri"],
    extends: values["service-account-extend-token-expiration"],
    ...optional("maxSeconds", maxSeconds || undefined),
    ...optional("signingKey", readFlagFile(values, "service-account-signing-key-file")),
  };
}

function networkOf(values: Values): ServiceNetwork {
  const { "service-cluster-ip-range": cidrs, "service-node-port-range": ports } = values;
  try {
    return serviceNetworkOf(cidrs, ports);
  } catch (error) {
    if (error instanceof NetworkFlagError) throw new UsageError(error.message);
    throw error;
  }
}

function optional<K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { readonly [P in K]: V });
}

function admissionConfigurationOf(values: Values): StartOptions["admissionConfiguration"] {
  const text = readFlagFile(values, "admission-control-config-file");
  if (text === undefined) return undefined;
  return { text, folder: path.dirname(values["admission-control-config-file"]) };
}

function encryptionOf(values: Values): StartOptions["encryption"] {
  const name = "encryption-provider-config";
  const file = values[name];
  if (file === "") return undefined;
  const isReloaded = values["encryption-provider-config-automatic-reload"];
  return { configuration: isReloaded ? reloadedFile(file, name) : readNamed(file, name) };
}

/** URL of an etcd endpoint; the scheme is optional, as in etcd's own clients. */
const endpointForm = /^(?:https?:\/\/)?[^/]+\/?$/;

function storageOptions(values: Values): StorageOptions {
  const { "etcd-servers": endpoints, "storage-backend": backend } = values;
  if (values["etcd-servers-overrides"].length > 0) {
    throw new UsageError(
      "--etcd-servers-overrides is not supported: the objects of all resources are stored in " +
        "--etcd-servers",
    );
  }
  if (backend === "embedded" && endpoints.length > 0) {
    throw new UsageError(`--etcd-servers requires --storage-backend=etcd3, not ${backend}`);
  }
  const odd = endpoints.find((endpoint) => !endpointForm.test(endpoint));
  if (odd !== undefined) {
    throw new UsageError(
      `--etcd-servers: ${JSON.stringify(odd)} must be a URL such as http://127.0.0.1:2379`,
    );
  }
  switch (backend) {
    case "memory":
      return { kind: "memory" };
    case "embedded":
      return { kind: "embedded", directory: path.join(values["data-dir"], "store") };
    default:
      if (endpoints.length === 0) {
        throw new UsageError(
          "--etcd-servers must be set, for example to http://127.0.0.1:2379; " +
            "without etcd use --storage-backend=embedded or memory",
        );
      }
      return { kind: "etcd", endpoints, ...etcdTls(values) };
  }
}

function etcdTls(values: Values): { readonly tls?: { ca?: string; cert?: string; key?: string } } {
  const ca = readFlagFile(values, "etcd-cafile");
  const cert = readFlagFile(values, "etcd-certfile");
  const key = readFlagFile(values, "etcd-keyfile");
  if ((cert === undefined) !== (key === undefined)) {
    throw new UsageError("--etcd-certfile and --etcd-keyfile must be given together");
  }
  if (ca === undefined && cert === undefined) return {};
  return { tls: { ...optional("ca", ca), ...optional("cert", cert), ...optional("key", key) } };
}

function readFlagFile(
  values: Values,
  name: {
    [K in keyof Values]: Values[K] extends string ? K : never;
  }[keyof Values],
): string | undefined {
  const file = values[name];
  return file === "" ? undefined : readNamed(file, name);
}
