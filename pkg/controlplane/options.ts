import type { AdmissionPluginFlags } from "#admission";
import type { LogDelivery, WebhookDelivery } from "#audit";
import type { AuthorizationMode } from "#authz";
import type { AdjustableLogger, Clock } from "#base";
import type { ServiceNetwork } from "#registry";
import type { CloseOptions, KubeletTls, Lifecycle, Limits } from "#server";
import type {
  FrontProxyOptions,
  OidcOptions,
  TokenWebhookOptions,
} from "./authentication/authentication-options.ts";
import type { TextSource } from "./files/file-reloader.ts";
import type { AuthorizationWebhook } from "./authorization/authorization.ts";
import type { EncryptionAtRest } from "./storage/encryption.ts";
import type { StorageOptions } from "./storage/open-storage.ts";
import type { ServiceAccountOptions } from "./authentication/service-accounts.ts";

/** Other servers of one store may not have heard of a deletion for so long. */
const settleMs = 1_500;

/** How long what goes away with its contents stays after it is empty. */
export function namespaceSettleMs({ storage }: StartOptions): number {
  return storage?.kind === "etcd" ? settleMs : 0;
}

export interface AuditOptions {
  /** Text of an `audit.k8s.io/v1` policy, YAML or JSON. */
  readonly policy: string;
  readonly log?: LogDelivery | undefined;
  readonly webhook?: WebhookDelivery | undefined;
}

/** Options of `startServer`. Without any, the server stores objects in memory and does not listen. */
export interface StartOptions {
  /** Default: in memory. */
  readonly storage?: StorageOptions;
  /** Port for HTTPS, 0 = any free one; absent = listen nowhere, requests come through `fetch`. */
  readonly port?: number;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Folder that keeps generated certificates and the admin token; absent = made anew each time. */
  readonly certificateDirectory?: string;
  /** Serving certificate (PEM); absent = one is made. */
  readonly serving?: { readonly certificate: TextSource; readonly privateKey: TextSource };
  /** Authorities of client certificates beside the generated one (PEM). */
  readonly clientCa?: TextSource;
  readonly frontProxy?: FrontProxyOptions;
  readonly tlsMinVersion?: "TLSv1.2" | "TLSv1.3";
  /** Lines of `token,user,uid,"group1,group2"`. */
  readonly tokens?: string;
  /** Nodes may join with the tokens that lie in Secrets of kube-system; default false. */
  readonly bootstrapTokens?: boolean;
  readonly serviceAccounts?: ServiceAccountOptions;
  readonly oidc?: OidcOptions;
  /** An AuthenticationConfiguration (YAML or JSON): issuers of tokens, and who is anonymous. */
  readonly authentication?: TextSource;
  readonly tokenWebhook?: TokenWebhookOptions;
  /** Requests without credentials become `system:anonymous`; default true. */
  readonly anonymous?: boolean;
  /** In order; default RBAC. Members of `system:masters` may do everything in every mode. */
  readonly authorization?: readonly AuthorizationMode[];
  /** What the mode ABAC goes by: lines of JSON. */
  readonly authorizationPolicies?: string;
  /** What the mode Webhook asks. */
  readonly authorizationWebhook?: AuthorizationWebhook;
  /** An AuthorizationConfiguration (YAML or JSON), in place of `authorization`. */
  readonly authorizationConfiguration?: TextSource;
  /** Admission plugins switched on or off by Kubernetes' names; default as in 1.34. */
  readonly admissionPlugins?: AdmissionPluginFlags;
  /** What plugins are told beside being on. */
  readonly admissionConfiguration?: {
    /** An AdmissionConfiguration (YAML or JSON). */
    readonly text: string;
    /** Where the files are that it names; default the working directory. */
    readonly folder?: string;
  };
  /** Run the controllers in this process; default true. */
  readonly controllers?: boolean;
  readonly storageRoot?: string;
  /** Absent = values are stored as they are. */
  readonly encryption?: EncryptionAtRest;
  readonly storageMediaType?: "json" | "protobuf";
  readonly eventTtlSeconds?: number;
  /** `--min-request-timeout`: shortest lifetime in ms of a watch without timeoutSeconds. */
  readonly minRequestTimeoutMs?: number;
  /** 0 = history is never forgotten. */
  readonly compactionIntervalMs?: number;
  readonly apiDomain?: string;
  readonly labelDomain?: string;
  /** `--runtime-config`: group versions and resources switched on or off. */
  readonly runtimeConfig?: ReadonlyMap<string, string>;
  /** Where services get their addresses and node ports; default 10.0.0.0/24 and 30000-32767. */
  readonly serviceNetwork?: ServiceNetwork;
  /** Address under which pods reach this server; default: told from `host`. */
  readonly advertiseAddress?: string;
  /** How kubelets are spoken to, for logs, exec and the like. */
  readonly kubelet?: KubeletTls;
  /** Let containers ask to be privileged; default false. */
  readonly allowPrivileged?: boolean;
  /** `--feature-gates`: switched on ("true") or off ("false") by name. */
  readonly featureGates?: ReadonlyMap<string, string>;
  /** What is recorded of requests, and where; default: nothing. */
  readonly audit?: AuditOptions | undefined;
  /** A TracingConfiguration (YAML or JSON); absent = no request is recorded as a trace. */
  readonly tracing?: string;
  /** Let those who may see `/debug/pprof/` measure where time is spent; default true. */
  readonly profiling?: boolean;
  /** What the program was told on its command line, for `/flagz`. */
  readonly flags?: ReadonlyMap<string, string>;
  readonly lifecycle?: Lifecycle;
  readonly limits?: Partial<Limits>;
  readonly clock?: Clock;
  /** Default: what went wrong, on standard error. */
  readonly logger?: AdjustableLogger;
  /** Told of what went wrong behind the scenes; default: an error of the logger. */
  readonly report?: (what: string, error: unknown) => void;
}

export interface RunningServer {
  /** `https://host:port`; "" when it listens nowhere. */
  readonly url: string;
  /** For the user `admin`, who is in `system:masters`; "" when it listens nowhere. */
  readonly kubeconfig: string;
  /** Bearer token of the user `admin`. */
  readonly token: string;
  /** A request of the user `admin` inside the process, with the semantics of the global `fetch`. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** A second server that begins with a copy of everything in this one; only in memory. */
  fork(options?: StartOptions): Promise<RunningServer>;
  /**
   * Says that it is not ready and goes on for `delayMs`; then ends watches, evenly over `spreadMs`,
   * lets accepted requests finish for at most `graceMs` (default 5 s), and frees everything.
   */
  close(options?: CloseOptions): Promise<void>;
}
