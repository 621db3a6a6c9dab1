import { flag } from "../flags/parse.ts";
import { authenticationFlags } from "./authentication-flags.ts";
import { auditFlags } from "./audit-flags.ts";
import { authorizationFlags } from "./authorization-flags.ts";
import { observingFlags } from "./observing-flags.ts";
import { sharingFlags } from "./sharing-flags.ts";

/** Flags of `keelson apiserver`, named as kube-apiserver names them. */
export const apiserverFlags = {
  "storage-backend": flag("string", "etcd3", "where objects are kept", {
    values: ["etcd3", "embedded", "memory"],
  }),
  "data-dir": flag("string", ".keelson", "folder of the embedded store and of generated files"),
  "etcd-servers": flag("list", [], "etcd endpoints, scheme://host:port, separated by commas"),
  "etcd-prefix": flag("string", "/registry", "prefix of all keys"),
  "etcd-cafile": flag("string", "", "file with the authorities that etcd's certificates come from"),
  "etcd-certfile": flag("string", "", "file with the client certificate for etcd"),
  "etcd-keyfile": flag("string", "", "file with the key of the client certificate for etcd"),
  "etcd-compaction-interval": flag("duration", 300_000, "how often old revisions are forgotten"),
  "storage-media-type": flag("string", "application/json", "how objects are stored", {
    values: ["application/json", "application/vnd.kubernetes.protobuf"],
  }),
  "encryption-provider-config": flag("string", "", "file that says what is encrypted at rest"),
  "encryption-provider-config-automatic-reload": flag(
    "bool",
    false,
    "take changes of that file over within a minute",
  ),
  "event-ttl": flag("duration", 3_600_000, "how long events are kept"),
  "bind-address": flag("ip", "0.0.0.0", "address to listen on"),
  "secure-port": flag("int", 6443, "port to serve HTTPS on; 0 = any free one", {
    minimum: 0,
    maximum: 65_535,
  }),
  "cert-dir": flag("string", "", "folder for generated certificates (default <data-dir>/pki)"),
  "tls-cert-file": flag("string", "", "file with the serving certificate and its chain"),
  "tls-private-key-file": flag("string", "", "file with the key of the serving certificate"),
  "tls-min-version": flag("string", "VersionTLS12", "oldest TLS version served", {
    values: ["VersionTLS12", "VersionTLS13"],
  }),
  "client-ca-file": flag("string", "", "file with the authorities of client certificates"),
  "token-auth-file": flag("string", "", "CSV file of bearer tokens: token,user,uid,groups"),
  "enable-bootstrap-token-auth": flag(
    "bool",
    false,
    "let nodes join with the tokens in Secrets of kube-system",
  ),
  "service-account-issuer": flag(
    "list",
    ["https://kubernetes.default.svc"],
    "who issues tokens of service accounts; the first signs, all are taken",
  ),
  "service-account-signing-key-file": flag(
    "string",
    "",
    "file with the private key of tokens (default sa.key in --cert-dir, made at first start)",
  ),
  "service-account-key-file": flag(
    "list",
    [],
    "files with more keys whose tokens are taken; replicas need each other's",
  ),
  "service-account-jwks-uri": flag(
    "string",
    "",
    "where others find the keys (default below the issuer)",
  ),
  "service-account-max-token-expiration": flag(
    "duration",
    0,
    "longest life of tokens that are asked for; 0 = as long as is asked for",
  ),
  "service-account-extend-token-expiration": flag(
    "bool",
    true,
    "give clients that read their token once one for a year",
  ),
  "api-audiences": flag("list", [], "what the server stands for in tokens (default the issuers)"),
  ...authenticationFlags,
  "anonymous-auth": flag("bool", true, "let requests without credentials be system:anonymous"),
  ...authorizationFlags,
  "enable-admission-plugins": flag(
    "list",
    [],
    "admission plugins to run beside the default ones, such as NodeRestriction",
  ),
  "disable-admission-plugins": flag("list", [], "default admission plugins not to run"),
  "admission-control-config-file": flag(
    "string",
    "",
    "file that configures admission plugins, such as the defaults of PodSecurity",
  ),
  "api-domain": flag("string", "k8s.io", "suffix of API group names"),
  "label-domain": flag("string", "", "suffix of labels and annotations (default as in Kubernetes)"),
  "service-cluster-ip-range": flag(
    "list",
    ["10.0.0.0/24"],
    "network of the services' addresses; a second one for the other family",
  ),
  "service-node-port-range": flag("string", "30000-32767", "ports that services get on nodes"),
  "advertise-address": flag("ip", "", "address under which pods reach this server"),
  "kubelet-certificate-authority": flag("string", "", "file with the authorities of kubelets"),
  "kubelet-client-certificate": flag("string", "", "file with the certificate for kubelets"),
  "kubelet-client-key": flag("string", "", "file with the key of that certificate"),
  "runtime-config": flag("pairs", new Map(), "switches group/versions on or off: batch/v1=false"),
  "allow-privileged": flag("bool", false, "let containers ask to be privileged"),
  "feature-gates": flag(
    "pairs",
    new Map(),
    "features on or off: HPAScaleToZero=true,AllAlpha=true",
  ),
  ...sharingFlags,
  "request-timeout": flag("duration", 60_000, "longest time for a request that is no watch"),
  "min-request-timeout": flag(
    "duration",
    1_800_000,
    "watches without timeoutSeconds end after one to two times this duration",
  ),
  ...auditFlags,
  ...observingFlags,
  "livez-grace-period": flag("duration", 0, "how long /livez lets the start take"),
  "shutdown-delay-duration": flag("duration", 0, "how long to go on serving after SIGTERM"),
  "shutdown-send-retry-after": flag("bool", false, "answer 429 to new requests while closing"),
  "shutdown-watch-termination-grace-period": flag(
    "duration",
    0,
    "over what time watches are ended while closing",
  ),
  "goaway-chance": flag("float", 0, "share of HTTP/2 requests whose connection is opened anew", {
    minimum: 0,
    maximum: 0.02,
  }),
} as const;
