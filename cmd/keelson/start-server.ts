import { randomBytes } from "node:crypto";
import { setMaxListeners } from "node:events";
import { builtinKinds, featureGates } from "#api";
import { feed } from "#authz";
import { type Clock, systemClock } from "#base";
import { serveDefinitions, type ServedDefinitions } from "#crd";
import {
  ensureKubernetesService,
  ensureServerObjects,
  runServerEndpoints,
  runServiceRepair,
} from "#controllers";
import { type Catalog, domainOf } from "#meta";
import { createRegistry, type Registry } from "#registry";
import type { Tracer } from "#request";
import {
  type CloseOptions,
  createServer,
  type DebuggingOptions,
  type HealthCheck,
  type KeelsonServer,
  type PrometheusMetrics,
  type TlsOptions,
} from "#server";
import { type Backend, type ObjectStore, objectStore, startCompactor } from "#storage";
import { type Access, accessOf } from "./access.ts";
import { noteTokenTracking, reconcileAccess } from "./access-bootstrap.ts";
import { type Admission, admissionOf } from "./admission.ts";
import { type Auditing, auditingOf } from "./audit.ts";
import { apiserver, bootstrap } from "./bootstrap.ts";
import { publishTrust } from "./cluster-trust.ts";
import { type Credentials, ensureCredentials, ensureSigningKey } from "./credentials.ts";
import { debuggingOf } from "./debugging.ts";
import { sealed } from "./encryption.ts";
import { FollowedFiles } from "./followed-files.ts";
import { fetchInside } from "./inside.ts";
import { kubeconfig } from "./kubeconfig.ts";
import { type ToldOptions, toldOptions } from "./logging.ts";
import { runLocalControllers } from "./local-controllers.ts";
import { metricsOf } from "./metrics.ts";
import { defaultNetwork, reachableAddress } from "./network.ts";
import { type OpenStorage, openStorage } from "./open-storage.ts";
import type { RunningServer, StartOptions } from "./options.ts";
import { servedCatalog } from "./served.ts";
import { StartSteps } from "./start-steps.ts";
import { countObjects, measured, showCaches } from "./storage-metrics.ts";
import { followedTls } from "./tls.ts";
import { traced, tracingOf } from "./tracing.ts";

const localhost = "127.0.0.1";
/** What the service `kubernetes` leads to when nobody listens. */
const defaultPort = 6443;
const defaultCompactionMs = 300_000;
const defaultEventTtlSeconds = 3600;
const storageCheckMs = 2_000;

/**
 * Starts a server; resolves when it is ready. In memory and without a port that takes milliseconds.
 */
export async function startServer(options: StartOptions = {}): Promise<RunningServer> {
  const clock = options.clock ?? systemClock;
  const storage = await openStorage(options.storage ?? { kind: "memory" }, clock);
  try {
    return await startOn(storage, await withSigningKey(toldOptions(options)), clock);
  } catch (error) {
    await storage.backend[Symbol.asyncDispose]();
    throw error;
  }
}

/** A copy of a server takes the tokens that were made before it was copied. */
async function withSigningKey(options: ToldOptions): Promise<ToldOptions> {
  const { serviceAccounts = {}, certificateDirectory } = options;
  if (serviceAccounts.signingKey !== undefined) return options;
  const algorithm = options.port === undefined ? "ES256" : "RS256";
  const signingKey = await ensureSigningKey(certificateDirectory, algorithm);
  return { ...options, serviceAccounts: { ...serviceAccounts, signingKey } };
}

async function startOn(
  opened: OpenStorage,
  options: ToldOptions,
  clock: Clock,
): Promise<RunningServer> {
  const prepared = await prepare(opened, options, clock);
  const { storage, values, credentials, token, life, files, report, closeTracing } = prepared;
  const assembled = await assemble(prepared);
  const { server, auditing, definitions } = assembled;
  const rootCa = credentials?.authority.certificate ?? "";
  const running = { ...prepared, ...assembled, rootCa };
  try {
    await makeReady(running);
  } catch (error) {
    life.abort();
    await closeServer({ server, auditing, closeTracing }, { graceMs: 0 });
    throw error;
  }
  const background = Promise.all([
    runBackground(running, () => server.address.port),
    definitions.done,
    values.follow(life.signal),
    publishTrust({ ...running, ownAuthority: rootCa, files, report }, life.signal),
    files.follow(life.signal),
  ]);
  const host = options.host ?? localhost;
  const url = credentials ? `https://${urlHost(host)}:${server.address.port}` : "";
  return {
    url,
    token,
    kubeconfig: credentials ? adminConfig(url, credentials) : "",
    fetch: (path, init) => fetchInside(server, path, { ...init, token }),
    fork: async (changed = {}) => {
      if (storage.fork === undefined) throw new Error("only a server in memory can be forked");
      return startOn(storage.fork(), { ...options, ...changed }, clock);
    },
    close: (closeOptions) =>
      closeAll({ ...running, background }, closeOptions),
  };
}

/** What the parts of a server stand on. */
async function prepare(opened: OpenStorage, options: ToldOptions, clock: Clock) {
  const domain = domainOf(options.apiDomain, options.labelDomain);
  const catalog = servedCatalog(builtinKinds, domain, options.runtimeConfig ?? new Map());
  const { report } = options;
  const root = options.storageRoot ?? "/registry";
  const { encryption } = options;
  const gates = featureGates(options.featureGates ?? new Map());
  const metrics = metricsOf(gates);
  const measuring = { catalog, clock, root, instruments: metrics.instruments };
  const { tracer, close: closeTracing } = await tracingOf(options, report);
  const backend = traced(measured(opened.backend, measuring), tracer);
  countObjects(opened.backend, measuring);
  const values = await sealed(backend, { encryption, root, catalog, clock, report });
  const store = objectStore(values.backend, { root });
  showCaches(store, measuring);
  const credentials = await credentialsOf(options, clock);
  const life = new AbortController();
  // Every watch of every controller listens to it.
  setMaxListeners(0, life.signal);
  return {
    options,
    clock,
    catalog,
    metrics,
    measuring,
    report,
    steps: new StartSteps(),
    values,
    credentials,
    life,
    gates,
    storage: { ...opened, backend: values.backend },
    token: credentials?.adminToken ?? randomBytes(24).toString("base64url"),
    files: new FollowedFiles({ clock, report }),
    store,
    tracer,
    closeTracing,
  };
}

/** The parts of a server, put together; nothing runs yet. */
async function assemble(prepared: Awaited<ReturnType<typeof prepare>>) {
  const { options, clock, catalog, report, values, credentials, life, files, storage } = prepared;
  const { metrics, steps, tracer } = prepared;
  const access = accessOf({
    ...prepared,
    adminToken: prepared.token,
    ownAuthority: credentials?.authority.certificate,
    life: life.signal,
    registry: () => registry,
  });
  const admission = admissionOf({ ...prepared, access, registry: () => registry });
  const common = { ...prepared, access, admission };
  const registry: Registry = registryOf(catalog, common);
  const health = [...storageChecks(storage.backend), values.check, ...steps.checks];
  const { domain } = catalog;
  const auditing = await auditingOf(options, { ...prepared, domain });
  const { auditor } = auditing;
  const debugging = debuggingOf(prepared);
  const watching = { health, metrics, tracer, auditor, debugging };
  const parts = { catalog, registry, access, clock, ...watching };
  const renew = (tls: TlsOptions) => server.renewTls(tls);
  const tls = credentials && followedTls(options, credentials, { files, renew });
  const server: KeelsonServer = serverOf(options, parts, tls);
  const { signal } = life;
  const definitions = serveDefinitions({ registry, catalog, clock, signal, report, tracer });
  return { access, admission, registry, auditing, server, definitions };
}

interface ServerParts {
  readonly catalog: Catalog;
  readonly registry: Registry;
  readonly access: Access;
  readonly clock: Clock;
  readonly health: readonly HealthCheck[];
  readonly metrics: PrometheusMetrics;
  readonly auditor: Auditing["auditor"];
  readonly tracer: Tracer;
  readonly debugging: DebuggingOptions;
}

function serverOf(
  options: ToldOptions,
  { access, ...parts }: ServerParts,
  tls: TlsOptions | undefined,
): KeelsonServer {
  return createServer({
    ...parts,
    authenticator: access.authenticator,
    authorizer: access.authorizer,
    documents: access.documents,
    tls,
    kubelet: options.kubelet ?? {},
    limits: options.limits ?? {},
    ...(options.lifecycle ?? {}),
    logger: options.logger,
  });
}

interface Unready extends Running {
  readonly definitions: ServedDefinitions;
  readonly steps: StartSteps;
  readonly server: KeelsonServer;
  readonly access: Access;
  readonly admission: Admission;
  readonly gates: (name: string) => boolean;
}

/** Makes the objects that every server has, listens, and tells the store where. */
async function makeReady(unready: Unready): Promise<void> {
  const { registry, catalog, options, clock, life, server, access, gates } = unready;
  const { admission, definitions, steps } = unready;
  const { signal } = life;
  const parts = { registry, catalog, signal, gates };
  await steps.run(
    [
      "poststarthook/start-system-namespaces-controller",
      "poststarthook/scheduling/bootstrap-system-priority-classes",
    ],
    bootstrap(registry, catalog, signal),
  );
  await steps.run(["poststarthook/rbac/bootstrap-roles"], reconcileAccess(parts));
  const tracking = noteTokenTracking(parts, clock.now());
  await steps.run(["poststarthook/start-legacy-token-tracking-controller"], tracking);
  const { report } = options;
  const objects = ensureServerObjects({ registry, catalog, clock, signal, report });
  await steps.run(["poststarthook/priority-and-fairness-config-producer"], objects);
  const following = { registry, catalog, clock, user: apiserver, signal, report };
  const informers = [feed(access.followed, following), admission.follow(following)];
  await steps.run(["informer-sync"], Promise.all(informers));
  await steps.run(
    ["poststarthook/start-apiextensions-controllers", "poststarthook/crd-informer-synced"],
    definitions.ready,
  );
  const { host = localhost, port } = options;
  if (port !== undefined) await server.listen({ host, port });
  const network = options.serviceNetwork ?? defaultNetwork;
  const bound = port === undefined ? defaultPort : server.address.port;
  await steps.run(
    ["poststarthook/bootstrap-controller", "poststarthook/start-service-ip-repair-controllers"],
    ensureKubernetesService({ registry, catalog, clock, network, port: bound, signal }),
  );
}

interface Foundation {
  readonly options: ToldOptions;
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly access: Access;
  readonly admission: Admission;
  readonly gates: (name: string) => boolean;
}

function registryOf(
  catalog: Catalog,
  { options, clock, access, admission, gates, store }: Foundation,
): Registry {
  const storageRoot = options.storageRoot ?? "/registry";
  return createRegistry({
    store,
    catalog,
    clock,
    gates,
    allowPrivileged: options.allowPrivileged ?? false,
    storageMediaType: options.storageMediaType ?? "json",
    eventTtlSeconds: options.eventTtlSeconds ?? defaultEventTtlSeconds,
    storageRoot,
    serviceNetwork: options.serviceNetwork ?? defaultNetwork,
    mutating: admission.mutating,
    validating: admission.validating,
    answerers: access.answerers,
  });
}

/** Only a server that listens needs certificates. */
async function credentialsOf(
  options: StartOptions,
  clock: Clock,
): Promise<Credentials | undefined> {
  if (options.port === undefined) return undefined;
  const named = options.host !== undefined && !isEverywhere(options.host);
  return ensureCredentials({
    directory: options.certificateDirectory,
    now: clock.now(),
    hosts: named ? [options.host] : [],
  });
}

function adminConfig(url: string, { authority, admin }: Credentials): string {
  return kubeconfig({ url, authority, user: "admin", client: admin });
}

function isEverywhere(host: string): boolean {
  return host === "0.0.0.0" || host === "::";
}

/** The host that clients on this machine use. */
function urlHost(host: string): string {
  if (isEverywhere(host)) return localhost;
  return host.includes(":") ? `[${host}]` : host;
}

/** Named as in Kubernetes, whatever the store is. */
function storageChecks(backend: Backend): readonly HealthCheck[] {
  const check = async () => void (await backend.revision(AbortSignal.timeout(storageCheckMs)));
  return [
    { name: "etcd", check },
    { name: "etcd-readiness", endpoints: ["readyz"], check },
  ];
}

interface Running {
  readonly storage: OpenStorage;
  readonly registry: Registry;
  readonly catalog: Catalog;
  readonly options: ToldOptions;
  readonly clock: Clock;
  readonly life: AbortController;
  readonly gates: (name: string) => boolean;
  readonly metrics: PrometheusMetrics;
  /** Authority of the serving certificate (PEM); "" without one. */
  readonly rootCa: string;
}

/** What goes on behind the requests until `life` ends. */
async function runBackground(running: Running, port: () => number): Promise<void> {
  const { storage, registry, options, clock, life } = running;
  const { report } = options;
  const intervalMs = options.compactionIntervalMs ?? defaultCompactionMs;
  const onFault = (error: unknown) => report("compaction", error);
  const compactor =
    intervalMs > 0 ? startCompactor(storage.backend, { clock, intervalMs, onFault }) : undefined;
  const { signal } = life;
  signal.addEventListener("abort", () => void compactor?.[Symbol.asyncDispose]());
  await Promise.all([
    runServiceRepair({ registry, clock, signal, report }),
    runEndpoints(running, port),
    runLocalControllers({
      ...running,
      signal,
      report,
      port: options.port === undefined ? undefined : port(),
    }),
  ]);
}

/** Only a server that pods can reach is an endpoint of the API. */
async function runEndpoints(running: Running, listeningOn: () => number): Promise<void> {
  const { storage, options, life } = running;
  const address = options.advertiseAddress ?? reachableAddress(options.host ?? localhost);
  if (options.port === undefined || address === undefined) return;
  const store = objectStore(storage.backend, { root: options.storageRoot ?? "/registry" });
  const own = { store, address, port: listeningOn(), signal: life.signal };
  await runServerEndpoints({ ...running, ...own, report: options.report });
}

interface Ending {
  readonly server: KeelsonServer;
  readonly auditing: Auditing;
  readonly closeTracing: () => Promise<void>;
}

interface Parts extends Ending {
  readonly life: AbortController;
  readonly background: Promise<unknown>;
  readonly storage: OpenStorage;
}

/** What the last requests left to be recorded is kept, too. */
async function closeServer(
  { server, auditing, closeTracing }: Ending,
  options?: CloseOptions,
): Promise<void> {
  await server.close(options);
  await auditing.close();
  await closeTracing();
}

async function closeAll(
  { life, background, storage, ...ending }: Parts,
  options?: CloseOptions,
): Promise<void> {
  await closeServer(ending, options);
  life.abort();
  await background;
  await storage.backend[Symbol.asyncDispose]();
}
