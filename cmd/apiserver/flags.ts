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
  "allow-privileged": flag("bool", false, "allow containers to request privileged mode"),
  "feature-gates": flag(
    "pairs",
    new Map(),
    "feature gates to turn on or off, as name=true|false pairs; AllAlpha and AllBeta set all of " +
      "a stage",
  ),
  ...inflightFlags,
  "request-timeout": flag(
    "duration",
    60_000,
    "time limit of a request, unless it is long-running, such as a watch",
  ),
  "min-request-timeout": flag(
    "duration",
    1_800_000,
    "minimum time before a watch without timeoutSeconds is ended; each lasts for a random time " +
      "between this and twice this, to spread reconnects",
  ),
  "goaway-chance": flag(
    "float",
    0,
    "fraction of HTTP/2 requests, 0 to 0.02, after which the server sends GOAWAY, so that the " +
      "client reconnects and load balancers can move it; 0 turns this off",
    { minimum: 0, maximum: 0.02 },
  ),
  "livez-grace-period": flag(
    "duration",
    0,
    "time after the start during which /livez reports unfinished start-up checks as healthy",
  ),
  "shutdown-delay-duration": flag(
    "duration",
    0,
    "time to go on serving after SIGTERM while /readyz fails, so that load balancers notice",
  ),
  "shutdown-send-retry-after": flag(
    "bool",
    false,
    "respond to new requests with 429, Retry-After and Connection: close while shutting down",
  ),
  "shutdown-watch-termination-grace-period": flag(
    "duration",
    0,
    "time over which active watches are ended during shutdown, evenly; 0s ends them at once",
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
    "not supported, must be empty: the objects of all resources are stored in --etcd-servers",
  ),
  "etcd-prefix": flag("string", "/registry", "prefix of all keys in the store"),
  "etcd-cafile": flag("string", "", "file with the CA certificates that verify etcd (PEM)"),
  "etcd-certfile": flag("string", "", "file with the client certificate for etcd (PEM)"),
  "etcd-keyfile": flag("string", "", "file with the private key of --etcd-certfile (PEM)"),
  "etcd-compaction-interval": flag(
    "duration",
    300_000,
    "interval of compaction requests; 0s turns compaction by this server off",
  ),
  "storage-media-type": flag("string", "application/json", "media type of stored objects", {
    values: ["application/json", "application/vnd.kubernetes.protobuf"],
    emptyIsDefault: true,
  }),
  "encryption-provider-config": flag(
    "string",
    "",
    "file with the EncryptionConfiguration: which resources are encrypted at rest, and how",
  ),
  "encryption-provider-config-automatic-reload": flag(
    "bool",
    false,
    "reload the file of --encryption-provider-config when it changes",
  ),
  "event-ttl": flag("duration", 3_600_000, "time for which events are retained"),
} as const;

const secureServingFlags = {
  "bind-address": flag("ip", "0.0.0.0", "IP address to listen on; 0.0.0.0 or :: for all"),
  "secure-port": flag("int", 6443, "port to serve HTTPS on; 0 picks a free port", {
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
  "disable-http2-serving": flag("bool", false, "serve HTTP/1.1 only, without HTTP/2"),
  "tls-min-version": flag("string", "VersionTLS12", "minimum TLS version", {
    values: ["VersionTLS12", "VersionTLS13"],
  }),
} as const;

const enablementFlags = {
  "runtime-config": flag(
    "pairs",
    new Map(),
    "API versions and resources to turn on or off, as <group>/<version>[/<resource>]=true|false " +
      "pairs; api/all, api/ga, api/beta and api/alpha set all versions of a stage",
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
    "all admission plugins to enable, comma-separated; excludes the other two flags (deprecated: " +
      "use --enable-admission-plugins and --disable-admission-plugins)",
  ),
  "enable-admission-plugins": flag(
    "list",
    [],
    "admission plugins to enable in addition to the default ones, comma-separated; the order " +
      "does not matter",
  ),
  "disable-admission-plugins": flag(
    "list",
    [],
    "admission plugins to disable although they are on by default, comma-separated",
  ),
  "admission-control-config-file": flag(
    "string",
    "",
    "file with the AdmissionConfiguration: configuration of single admission plugins",
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
    "types of node addresses by which kubelets are reached, most preferred first (default: " +
      "Hostname,InternalDNS,InternalIP,ExternalDNS,ExternalIP; InternalIP first if there are " +
      "simulated nodes)",
  ),
  "kubelet-client-key": flag(
    "string",
    "",
    "file with the private key of --kubelet-client-certificate (PEM)",
  ),
  "service-cluster-ip-range": flag(
    "list",
    ["10.0.0.0/24"],
    "CIDR from which cluster IPs of Services are allocated; two, comma-separated, for dual stack",
  ),
  "service-node-port-range": flag(
    "string",
    "30000-32767",
    "port range, inclusive, from which node ports of Services are allocated",
  ),
} as const;

/** `keelson start` runs the flags of the API server but --workers: it is one process. */
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
