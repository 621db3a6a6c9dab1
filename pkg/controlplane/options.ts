import type { AdmissionPluginFlags } from "#admission";
import type { LogDelivery, WebhookDelivery } from "#audit";
import type { AuthorizationMode } from "#authz";
import type { AdjustableLogger, Clock } from "#base";
import type { Client } from "#client";
import type { ControllerDescriptor, ControllerSettings } from "#controllers";
import type { NodesSettings } from "#nodes";
import type { ServiceNetwork } from "#registry";
import type { User } from "#request";
import type { CloseOptions, KubeletTls, Lifecycle, Limits, RequestInterceptor } from "#server";
import type { SchedulerSettings } from "#scheduler";
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

/** Time in ms after which every replica has seen the deletion of a namespace. */
const settleMs = 1_500;

/** Time for which an empty, terminating namespace is kept, in ms. */
export function namespaceSettleMs({ storage }: StartOptions): number {
  return storage?.kind === "etcd" ? settleMs : 0;
}

export interface AuditOptions {
  /** Text of an `audit.k8s.io/v1` policy, YAML or JSON. */
  readonly policy: string;
  readonly log?: LogDelivery | undefined;
  readonly webhook?: WebhookDelivery | undefined;
}

/** How this server connects to aggregated API servers. */
export interface AggregationOptions {
  /**
   * Client certificate of this server (PEM). Default: a generated one, unless `frontProxy` is given,
   * and none for a server that does not listen.
   */
  readonly client?: { readonly certificate: TextSource; readonly privateKey: TextSource };
  /** Connect only to ready endpoints of Services, never to their cluster IP; default false. */
  readonly endpointsOnly?: boolean;
  /** Respond with 502 to clients that an aggregated API server redirects; default true. */
  readonly rejectRedirects?: boolean;
}

/** The identity with which a client inside the process calls the API. */
export interface ClientIdentity {
  readonly user: User;
  readonly userAgent: string;
  /** Lifetime of the client. */
  readonly signal: AbortSignal;
}

export type ClientWrapper = (client: Client, identity: ClientIdentity) => Client;

/** Options of `startServer`. Without any, the server stores objects in memory and does not listen. */
export interface StartOptions {
  /** Default: in memory. */
  readonly storage?: StorageOptions;
  /**
   * Directory of YAML and JSON files whose objects are loaded into the empty store before the
   * server is ready, with their uids, times and status: a recording of `keelson record`, for
   * example.
   */
  readonly from?: string;
  /** Port for HTTPS; 0 = any free one, absent = do not listen: requests come through `fetch`. */
  readonly port?: number;
  /** IP address to listen on; default 127.0.0.1. */
  readonly host?: string;
  /** Directory of generated certificates and the admin token; absent = kept in memory. */
  readonly certificateDirectory?: string;
  /** Serving certificate (PEM); absent = that of `certificateDirectory`, generated if missing. */
  readonly serving?: { readonly certificate: TextSource; readonly privateKey: TextSource };
  /** CA certificates that verify client certificates, in addition to the generated one (PEM). */
  readonly clientCa?: TextSource;
  readonly frontProxy?: FrontProxyOptions;
  /** Requests to aggregated API servers, which APIServices register. */
  readonly aggregation?: AggregationOptions;
  /** Serve HTTP/2 in addition to HTTP/1.1; default true. */
  readonly http2?: boolean;
  readonly tlsMinVersion?: "TLSv1.2" | "TLSv1.3";
  /** Static bearer tokens: lines of `token,user,uid,"group1,group2"`. */
  readonly tokens?: string;
  /** Accept bootstrap tokens from Secrets in kube-system; default false. */
  readonly bootstrapTokens?: boolean;
  readonly serviceAccounts?: ServiceAccountOptions;
  readonly oidc?: OidcOptions;
  /** An AuthenticationConfiguration (YAML or JSON): JWT issuers and anonymous access. */
  readonly authentication?: TextSource;
  readonly tokenWebhook?: TokenWebhookOptions;
  /** Requests without credentials become `system:anonymous`; default true. */
  readonly anonymous?: boolean;
  /**
   * Authorization modes in order; default RBAC. `system:masters` is allowed everything in every
   * mode.
   */
  readonly authorization?: readonly AuthorizationMode[];
  /** Policy of the ABAC authorizer: one JSON object per line. */
  readonly authorizationPolicies?: string;
  /** The webhook of mode Webhook. */
  readonly authorizationWebhook?: AuthorizationWebhook;
  /** An AuthorizationConfiguration (YAML or JSON), in place of `authorization`. */
  readonly authorizationConfiguration?: TextSource;
  /** Admission plugins to enable or disable, by Kubernetes' names; default as in 1.34. */
  readonly admissionPlugins?: AdmissionPluginFlags;
  /** Configuration of individual admission plugins. */
  readonly admissionConfiguration?: {
    /** An AdmissionConfiguration (YAML or JSON). */
    readonly text: string;
    /** Directory of the files that it names; default the working directory. */
    readonly folder?: string;
  };
  /** Simulated nodes in this process; absent = none. Absent settings have their defaults. */
  readonly nodes?: Partial<NodesSettings> & Pick<NodesSettings, "count">;
  /** Run the controllers in this process; default true. */
  readonly controllers?: boolean;
  /** Run the scheduler in this process; default false. */
  readonly scheduler?: boolean;
  /** Profiles, plugins and extenders of that scheduler; absent = kube-scheduler's defaults. */
  readonly schedulerSettings?: SchedulerSettings;
  /** Which controllers run in this process, and their settings; absent = the defaults. */
  readonly controllerManager?: {
    /**
     * Absent = those that are enabled by default, and those of bootstrap tokens if they are
     * accepted.
     */
    readonly selected?: readonly ControllerDescriptor[];
    readonly settings?: Partial<ControllerSettings>;
  };
  /** Run metrics-server, with simulated usage, in this process; default false. */
  readonly metricsServer?: boolean;
  readonly storageRoot?: string;
  /** Absent = values are stored unencrypted. */
  readonly encryption?: EncryptionAtRest;
  readonly storageMediaType?: "json" | "protobuf";
  readonly eventTtlSeconds?: number;
  /** `--min-request-timeout`: shortest lifetime in ms of a watch without timeoutSeconds. */
  readonly minRequestTimeoutMs?: number;
  /** 0 = this server does not compact the store. */
  readonly compactionIntervalMs?: number;
  readonly apiDomain?: string;
  readonly labelDomain?: string;
  /** `--runtime-config`: group versions and resources to enable or disable. */
  readonly runtimeConfig?: ReadonlyMap<string, string>;
  /** Cluster IP ranges and node ports of Services; default 10.0.0.0/24 and 30000-32767. */
  readonly serviceNetwork?: ServiceNetwork;
  /** Address at which pods reach this server; default: derived from `host`. */
  readonly advertiseAddress?: string;
  /**
   * Address ranges to which the annotation `simulated.keelson.dev/port-forward` of simulated pods may
   * redirect this server's connections to them; default: those of `nodes`, none without nodes.
   */
  readonly portForwardTargets?: readonly string[];
  /** TLS of connections to kubelets (logs, exec, port-forward). */
  readonly kubelet?: KubeletTls;
  /**
   * Types of node addresses for connections to kubelets, most preferred first; empty or absent =
   * kube-apiserver's default, or InternalIP first if there are simulated nodes.
   */
  readonly kubeletAddressTypes?: readonly string[];
  /** Allow privileged containers; default false. */
  readonly allowPrivileged?: boolean;
  /** `--feature-gates`: feature gates by name, "true" or "false". */
  readonly featureGates?: ReadonlyMap<string, string>;
  /** Audit backends; default none. */
  readonly audit?: AuditOptions | undefined;
  /** A TracingConfiguration (YAML or JSON); absent = tracing is disabled. */
  readonly tracing?: string;
  /** Serve profiles at `/debug/pprof/`; default true. */
  readonly profiling?: boolean;
  /** Values of all command-line flags, for `/flagz`. */
  readonly flags?: ReadonlyMap<string, string>;
  readonly lifecycle?: Lifecycle;
  readonly limits?: Partial<Limits>;
  /**
   * Queue and dispatch requests by FlowSchemas and PriorityLevelConfigurations, which share
   * `readsInFlight` + `writesInFlight` seats; default true. Without it, these limit the requests in
   * flight.
   */
  readonly priorityAndFairness?: boolean;
  /** Observes requests and injects faults, for tests of clients; see `testServer`. */
  readonly interceptor?: RequestInterceptor;
  /** Wraps the clients of controllers, scheduler and simulated nodes in this process, for tests. */
  readonly wrapClient?: ClientWrapper;
  readonly clock?: Clock;
  /** Default: errors only, to standard error. */
  readonly logger?: AdjustableLogger;
  /** Reports errors outside requests; default: the logger. */
  readonly report?: (what: string, error: unknown) => void;
}

/**
 * Content of a server's store at one moment. It uses memory only for what the store changes later.
 */
export interface ServerSnapshot {
  /**
   * Forks the server: starts another one with exactly this content. The options replace those of
   * the original; options that change what is served or stored imply `restart`.
   */
  start(options?: StartOptions): Promise<RunningServer>;
  /**
   * Starts a server with this content as on an existing store: it creates and repairs bootstrap
   * objects. The options replace those of the original.
   */
  restart(options?: StartOptions): Promise<RunningServer>;
}

export interface RunningServer {
  /** `https://host:port`; "" if it does not listen. */
  readonly url: string;
  /**
   * Kubeconfig of the user `admin` in `system:masters`; "" if the server does not listen, or if all
   * certificates were supplied to a server without controllers.
   */
  readonly kubeconfig: string;
  /** Bearer token of the user `admin`. */
  readonly token: string;
  /**
   * Sends a request as the user `admin` within the process, with the semantics of the global
   * `fetch`.
   */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /**
   * Starts a second server on a copy of the store, on the clock of the first unless the options hold
   * another; memory backend only. Short for `snapshot().start(options)`.
   */
  fork(options?: StartOptions): Promise<RunningServer>;
  /** Takes a copy of the store, from which servers can be started; memory backend only. */
  snapshot(): ServerSnapshot;
  /**
   * Shuts down: fails `/readyz` and keeps serving for `delayMs`, closes watches evenly over
   * `spreadMs`, waits up to `graceMs` (default 5 s) for accepted requests, then releases all
   * resources.
   */
  close(options?: CloseOptions): Promise<void>;
}
