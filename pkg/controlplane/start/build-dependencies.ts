/** Builds what the parts of a server depend on: storage, credentials, metrics, tracing. */
import { randomBytes } from "node:crypto";
import { setMaxListeners } from "node:events";
import {
  type AccessDefault,
  accessDefaults as defaultAccess,
  builtinKinds,
  featureGates,
  gatesWithoutEffect,
} from "#api";
import { type Clock, realClock } from "#base";
import { type Catalog, domainOf } from "#meta";
import type { Tracer } from "#request";
import type { HealthCheck, PrometheusMetrics } from "#server";
import { type Backend, type CacheSnapshot, type ForkableObjectStore, objectStore } from "#storage";
import { type Credentials, ensureCredentials } from "../credentials/credentials.ts";
import { withSigningKey } from "../authentication/signing-key.ts";
import { withFrontProxy } from "../credentials/front-proxy.ts";
import { decryptionCheck, encryptAtRest } from "../storage/encryption.ts";
import { serverId } from "../cluster/server-identity.ts";
import { FileReloader } from "../files/file-reloader.ts";
import { ReloadMetrics } from "../files/reload-metrics.ts";
import type { ResolvedOptions } from "../observability/logging.ts";
import type { StartOptions } from "../options.ts";
import { buildMetrics } from "../observability/metrics.ts";
import { isWildcardAddress } from "../network.ts";
import type { OpenStorage } from "../storage/open-storage.ts";
import { servedCatalog } from "./served-catalog.ts";
import { shareMetrics } from "../process/worker-metrics.ts";
import { PostStartHooks } from "./post-start-hooks.ts";
import {
  countObjects,
  measuredBackend,
  readWaits,
  observeCaches,
} from "../storage/storage-metrics.ts";
import { tracedBackend, buildTracing } from "../observability/tracing.ts";
import { isWorker } from "../process/workers.ts";

export interface ServerDependencies {
  readonly options: ResolvedOptions;
  readonly clock: Clock;
  /** Reports errors outside requests, by default to the log. */
  readonly report: ResolvedOptions["report"];
  /** Whether a feature gate is on. */
  readonly gates: (name: string) => boolean;
  readonly catalog: Catalog;
  /** The roles and bindings that every server has, made when they are first needed. */
  readonly accessDefaults: () => readonly AccessDefault[];
  /** Undefined for a server that is not a fork. */
  readonly inherited: Inheritance | undefined;
  readonly metrics: PrometheusMetrics;
  readonly tracer: Tracer;
  readonly closeTracing: () => Promise<void>;
  /** Measured, traced and encrypted. */
  readonly storage: OpenStorage;
  /** Prefix of all keys. */
  readonly storageRoot: string;
  readonly store: ForkableObjectStore;
  readonly storageChecks: readonly HealthCheck[];
  /** Undefined for a server that does not listen. */
  readonly credentials: Credentials | undefined;
  /** Bearer token of the user `admin`. */
  readonly token: string;
  /** Resolves when the key that signs service account tokens can be used. */
  readonly signingKeyRead: Promise<void>;
  /** Watched for changes once the server is ready. */
  readonly files: FileReloader;
  readonly postStartHooks: PostStartHooks;
  /** Aborts to end all background work. */
  readonly life: AbortController;
  /** Signal of `life`. */
  readonly signal: AbortSignal;
}

const storageCheckMs = 2_000;

/** What servers with the same kinds and features share. */
interface ServedApi {
  readonly gates: (name: string) => boolean;
  readonly accessDefaults: () => readonly AccessDefault[];
  /** Each server has a copy of its own. */
  readonly catalog: Catalog;
}

/**
 * What a fork takes over from the server whose store it copies: values that never change, so that
 * the time of a fork depends on neither the number of kinds nor that of objects.
 */
export interface Inheritance extends ServedApi {
  readonly caches: CacheSnapshot | undefined;
  /** Whether the original listened. */
  readonly hasPort: boolean;
}

export interface ServerSettings {
  readonly opened: OpenStorage;
  readonly options: ResolvedOptions;
  readonly clock: Clock;
  /** Present if the store is a copy of that of a server with the same kinds and features. */
  readonly inherited: Inheritance | undefined;
  /** Whether it serves what every server with default options does; absent = false. */
  readonly hasDefaultOptions?: boolean;
}

export async function buildDependencies(settings: ServerSettings): Promise<ServerDependencies> {
  const { opened, clock, inherited, hasDefaultOptions = false } = settings;
  const real = realClock(clock);
  const { serviceAccounts, read: signingKeyRead } = withSigningKey(settings.options);
  const options = await withFrontProxy({ ...settings.options, serviceAccounts }, real);
  const { report, storageRoot = "/registry" } = options;
  const api = inherited ?? (hasDefaultOptions ? (defaultApi ??= apiOf({})) : apiOf(options));
  const { gates, accessDefaults } = api;
  const catalog = api.catalog.builtin();
  const unused = gatesWithoutEffect(options.featureGates ?? new Map());
  if (unused.length > 0) {
    options.logger.info(0, `Feature gates without effect in Keelson: ${unused.join(", ")}`);
  }
  const metrics = buildMetrics(gates);
  if (isWorker()) shareMetrics(metrics);
  const { tracer, close: closeTracing } = await buildTracing(options, report);
  const reloads = new ReloadMetrics(metrics.instruments, serverId({ options, gates }));
  const files = new FileReloader({ clock: real, report, metrics: reloads });
  const credentials = await credentialsOf(options, real);
  const life = new AbortController();
  // Every watch of every controller adds a listener.
  setMaxListeners(0, life.signal);
  const common = { options, clock, report, catalog, metrics, tracer, files, storageRoot };
  return {
    ...common,
    ...(await storageOn(opened, { ...common, clock: real, initial: inherited?.caches })),
    accessDefaults,
    inherited,
    gates,
    closeTracing,
    credentials,
    signingKeyRead,
    token: credentials?.adminToken ?? randomBytes(24).toString("base64url"),
    postStartHooks: new PostStartHooks({ clock: real, report, signal: life.signal }),
    life,
    signal: life.signal,
  };
}

/** That of servers with default options, made by the first of them. */
let defaultApi: ServedApi | undefined;

function apiOf(options: StartOptions): ServedApi {
  const { apiDomain, labelDomain, runtimeConfig = new Map() } = options;
  const gates = featureGates(options.featureGates ?? new Map());
  const domain = domainOf(apiDomain, labelDomain);
  const catalog = servedCatalog(builtinKinds, domain, { runtimeConfig, gates });
  let defaults: readonly AccessDefault[] | undefined;
  const accessDefaults = () => (defaults ??= defaultAccess({ domain, gate: gates }));
  return { gates, catalog, accessDefaults };
}

interface Storing extends Pick<
  ServerDependencies,
  "catalog" | "clock" | "files" | "metrics" | "options" | "report" | "storageRoot" | "tracer"
> {
  /** What the caches begin with. */
  readonly initial: CacheSnapshot | undefined;
}

/** Wraps the backend with metrics, tracing and encryption at rest. */
async function storageOn(
  opened: OpenStorage,
  { initial, metrics, options, storageRoot: root, tracer, ...common }: Storing,
): Promise<Pick<ServerDependencies, "storage" | "store" | "storageChecks">> {
  const { catalog, clock } = common;
  const measuring = { catalog, clock, root, instruments: metrics.instruments };
  countObjects(opened.backend, measuring);
  const open = tracedBackend(measuredBackend(opened.backend, measuring), tracer);
  const { encryption } = options;
  const encrypted = await encryptAtRest(open, { ...common, encryption, root });
  const { backend, check, prefixes } = encrypted;
  const store = objectStore(backend, { root, initial, readWait: readWaits(measuring) });
  observeCaches(store, measuring);
  const storageChecks = [...checksOf(backend), check, decryptionCheck(store, prefixes)];
  return { storage: { ...opened, backend }, store, storageChecks };
}

/** kube-apiserver's check names, for every backend. */
function checksOf(backend: Backend): readonly HealthCheck[] {
  const check = async () => void (await backend.revision(AbortSignal.timeout(storageCheckMs)));
  return [
    { name: "etcd", check },
    { name: "etcd-readiness", endpoints: ["readyz"], check },
  ];
}

/** Only a server that listens needs certificates. */
async function credentialsOf(
  options: ResolvedOptions,
  clock: Clock,
): Promise<Credentials | undefined> {
  const { host, port, certificateDirectory: directory, serving, clientCa } = options;
  if (port === undefined) return undefined;
  const hosts = host !== undefined && !isWildcardAddress(host) ? [host] : [];
  // Controllers sign certificates and publish CAs; clients without --client-ca-file need ours.
  const needsAuthority = clientCa === undefined || options.controllers !== false;
  return ensureCredentials({ directory, now: clock.now(), hosts, serving, needsAuthority });
}
