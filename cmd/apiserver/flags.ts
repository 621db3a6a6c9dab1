import { flag } from "../flags/parse.ts";
import type { FlagGroup } from "../flags/help.ts";
import { auditFlags } from "./audit-flags.ts";
import { aggregationFlags } from "./aggregation-flags.ts";
import { authenticationFlags } from "./authentication-flags.ts";
import { authorizationFlags } from "./authorization-flags.ts";
import { featureFlags, logFlags, traceFlags } from "./observing-flags.ts";
import { inflightFlags, workerFlags } from "./sharing-flags.ts";

const genericFlags = {
  "advertise-address": flag(
    "ip",
    "",
    "IP address at which pods reach this server, published as an endpoint of the Service " +
      "`kubernetes` (default: --bind-address, or the host's address if that is unspecified)",
  ),
  "allow-privileged": flag("bool", false, "allow privileged containers"),
  "feature-gates": flag(
    "pairs",
    new Map(),
    "feature gates to enable or disable, as name=true|false pairs; AllAlpha and AllBeta set all " +
      "gates of a stage",
  ),
  ...inflightFlags,
  "request-timeout": flag(
    "duration",
    60_000,
    "time limit of requests, except long-running ones such as watches",
  ),
  "min-request-timeout": flag(
    "duration",
    1_800_000,
    "minimum duration of a watch without timeoutSeconds; each is closed after a random time " +
      "between this and twice this, to spread reconnects",
  ),
  "goaway-chance": flag(
    "float",
    0,
    "probability (0 to 0.02) that the server sends GOAWAY on an HTTP/2 request, so that the " +
      "client reconnects and a load balancer can choose another server; 0 = never",
    { minimum: 0, maximum: 0.02 },
  ),
  "livez-grace-period": flag(
    "duration",
    0,
    "time after the start during which /livez treats unfinished start-up checks as passed",
  ),
  "shutdown-delay-duration": flag(
    "duration",
    0,
    "time for which the server keeps serving after SIGTERM while /readyz fails, so that load " +
      "balancers stop sending requests",
  ),
  "shutdown-send-retry-after": flag(
    "bool",
    false,
    "reject new requests during shutdown with 429, Retry-After and Connection: close",
  ),
  "shutdown-watch-termination-grace-period": flag(
    "duration",
    0,
    "period over which active watches are closed evenly during shutdown; 0s = all at once",
  ),
} as const;

const etcdFlags = {
  "storage-backend": flag("string", "etcd3", "where objects are stored", {
    values: ["etcd3", "embedded", "memory"],
  }),
  "data-dir": flag(
    "string",
    ".keelson",
    "directory of the embedded store, generated certificates and the kubeconfig",
  ),
  "etcd-servers": flag("list", [], "etcd endpoints (scheme://host:port), comma-separated"),
  "etcd-servers-overrides": flag(
    "list",
    [],
    "not supported, must be empty: all resources are stored in --etcd-servers",
  ),
  "etcd-prefix": flag("string", "/registry", "prefix of all keys in the store"),
  "etcd-cafile": flag("string", "", "file with the CA certificates that verify etcd (PEM)"),
  "etcd-certfile": flag("string", "", "file with the client certificate for etcd (PEM)"),
  "etcd-keyfile": flag("string", "", "file with the private key of --etcd-certfile (PEM)"),
  "etcd-compaction-interval": flag(
    "duration",
    300_000,
    "interval of compaction requests; 0s = this server does not compact",
  ),
  "storage-media-type": flag("string", "application/json", "media type of stored objects", {
    values: ["application/json", "application/vnd.kubernetes.protobuf"],
    emptyIsDefault: true,
  }),
  "encryption-provider-config": flag(
    "string",
    "",
    "file with the EncryptionConfiguration, which selects the resources to encrypt at rest and " +
      "their providers",
  ),
  "encryption-provider-config-automatic-reload": flag(
    "bool",
    false,
    "reload the file of --encryption-provider-config when it changes",
  ),
  "event-ttl": flag("duration", 3_600_000, "time for which events are retained"),
} as const;

const secureServingFlags = {
  "bind-address": flag("ip", "0.0.0.0", "IP address to listen on; 0.0.0.0 or :: = all interfaces"),
  "secure-port": flag("int", 6443, "port to serve HTTPS on; 0 = any free one", {
    minimum: 0,
    maximum: 65_535,
  }),
  "cert-dir": flag(
    "string",
    "",
    "directory of generated certificates and keys (default: <data-dir>/pki)",
  ),
  "tls-cert-file": flag(
    "string",
    "",
    "file with the serving certificate, followed by intermediates (PEM); reloaded when it " +
      "changes (default: a certificate generated in --cert-dir)",
  ),
  "tls-private-key-file": flag(
    "string",
    "",
    "file with the private key of --tls-cert-file (PEM); reloaded when it changes",
  ),
  "disable-http2-serving": flag("bool", false, "disable HTTP/2 and serve HTTP/1.1 only"),
  "tls-min-version": flag("string", "VersionTLS12", "minimum TLS version of clients", {
    values: ["VersionTLS12", "VersionTLS13"],
  }),
} as const;

const enablementFlags = {
  "runtime-config": flag(
    "pairs",
    new Map(),
    "API versions and resources to enable or disable, as " +
      "<group>/<version>[/<resource>]=true|false pairs; api/all, api/ga, api/beta and api/alpha " +
      "set all versions of a stage",
  ),
  "api-domain": flag("string", "k8s.io", "suffix of API group names"),
  "label-domain": flag(
    "string",
    "",
    "suffix of label, annotation and type names (default: kubernetes.io if --api-domain is " +
      "k8s.io, else --api-domain)",
  ),
} as const;

const admissionFlags = {
  "admission-control": flag(
    "list",
    [],
    "complete list of the admission plugins to enable, comma-separated; excludes " +
      "--enable-admission-plugins and --disable-admission-plugins (deprecated: use those)",
  ),
  "enable-admission-plugins": flag(
    "list",
    [],
    "admission plugins to enable in addition to those enabled by default, comma-separated; their " +
      "order here does not matter",
  ),
  "disable-admission-plugins": flag(
    "list",
    [],
    "admission plugins to disable although they are enabled by default, comma-separated",
  ),
  "admission-control-config-file": flag(
    "string",
    "",
    "file with the AdmissionConfiguration, which configures individual admission plugins",
  ),
} as const;

const miscFlags = {
  "kubelet-certificate-authority": flag(
    "string",
    "",
    "file with the CA certificates that verify kubelets (PEM)",
  ),
  "kubelet-client-certificate": flag(
    "string",
    "",
    "file with the client certificate for kubelets (PEM)",
  ),
  "kubelet-preferred-address-types": flag(
    "list",
    [],
    "types of node addresses for connections to kubelets, most preferred first (default: " +
      "Hostname,InternalDNS,InternalIP,ExternalDNS,ExternalIP; InternalIP first if there are " +
      "simulated nodes)",
  ),
  "simulated-port-forward-targets": flag(
    "list",
    [],
    "CIDRs of the addresses to which this server connects instead of simulated pods, as their " +
      "annotation simulated.keelson.dev/port-forward says (default: none; --port-forward-targets " +
      "if this process runs simulated nodes)",
  ),
  "kubelet-client-key": flag(
    "string",
    "",
    "file with the private key of --kubelet-client-certificate (PEM)",
  ),
  "service-cluster-ip-range": flag(
    "list",
    ["10.0.0.0/24"],
    "CIDR from which cluster IPs of Services are allocated, or two of them, comma-separated, for " +
      "dual stack",
  ),
  "service-node-port-range": flag(
    "string",
    "30000-32767",
    "port range, inclusive, from which node ports of Services are allocated",
  ),
} as const;

/**
 * Groups of API server flags that `keelson start` has as well: all but --workers, as it is one
 * process.
 */
export const singleProcessGroups = [
  { heading: "Generic", flags: genericFlags },
  { heading: "Storage", flags: etcdFlags },
  { heading: "Secure serving", flags: secureServingFlags },
  { heading: "Auditing", flags: auditFlags },
  { heading: "Features", flags: featureFlags },
  { heading: "Authentication", flags: authenticationFlags },
  { heading: "Authorization", flags: authorizationFlags },
  { heading: "Aggregation", flags: aggregationFlags },
  { heading: "API enablement", flags: enablementFlags },
  { heading: "Admission", flags: admissionFlags },
  { heading: "Logs", flags: logFlags },
  { heading: "Traces", flags: traceFlags },
  { heading: "Misc", flags: miscFlags },
] as const satisfies readonly FlagGroup[];

export const apiserverGroups: readonly FlagGroup[] = [
  ...singleProcessGroups,
  { heading: "Process", flags: workerFlags },
];

/** Flags of one API server process, with kube-apiserver's names, meanings and defaults. */
export const singleProcessFlags = {
  ...genericFlags,
  ...etcdFlags,
  ...secureServingFlags,
  ...auditFlags,
  ...featureFlags,
  ...authenticationFlags,
  ...authorizationFlags,
  ...aggregationFlags,
  ...enablementFlags,
  ...admissionFlags,
  ...logFlags,
  ...traceFlags,
  ...miscFlags,
} as const;

/** Flags of `keelson apiserver`. */
export const apiserverFlags = { ...singleProcessFlags, ...workerFlags } as const;
