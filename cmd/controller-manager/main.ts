import { createPrivateKey, X509Certificate } from "node:crypto";
import { setMaxListeners } from "node:events";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { featureGates } from "#api";
import { parseSigningKey, signToken } from "#authn";
import { type Clock, cryptoRandom, systemClock } from "#base";
import {
  type Client,
  clientMetrics,
  connections,
  EventRecorder,
  HttpClient,
  Informers,
  retrying,
  runCandidacy,
  runElection,
  timesFault,
} from "#client";
import {
  type ControllerDescriptor,
  type ControllerSettings,
  selectControllers,
} from "#controllers";
import { type Domain, domainOf, resolve } from "#meta";
import { type Endpoint, type Instruments, KubeconfigFault, parseKubeconfig } from "#request";
import { PrometheusMetrics, versionInfo } from "#server";
import { logFormat } from "../flags/logging-flags.ts";
import { type FlagValues, parseFlags, UsageError } from "../flags/parse.ts";
import { serviceAccountToken, serveHealthAndMetrics, standardLogger } from "#controlplane";
import { controllerManagerFlags } from "./flags.ts";

type Values = FlagValues<typeof controllerManagerFlags>;

const component = "kube-controller-manager";
/** Emptying a namespace takes many requests: its controller may ask so much more often. */
const namespaceFactor = 20;
/** API servers believe that a namespace lives on for so long after its deletion. */
const settleMs = 1_500;

/** `keelson controller-manager`: the controllers, while this process leads. */
export async function runControllerManager(words: readonly string[]): Promise<void> {
  const values = parseFlags(controllerManagerFlags, words);
  const manager = new ControllerManager(values);
  const life = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.once(signal, () => {
      life.abort();
      process.once(signal, () => process.exit(1));
    });
  }
  await manager.run(life.signal);
  if (!life.signal.aborted) throw new UsageError("leader election lost");
}

class ControllerManager {
  private readonly clock: Clock = systemClock;
  private readonly metrics = new PrometheusMetrics();
  private readonly instruments: Instruments;
  private readonly domain: Domain;
  private readonly selected: readonly ControllerDescriptor[];
  private readonly settings: ControllerSettings;
  private readonly coordinated: boolean;
  private readonly report: (what: string, error: unknown) => void;
  private readonly identity = `${hostname()}_${cryptoRandom.uuid()}`;

  constructor(private readonly values: Values) {
    this.metrics.instruments.define(clientMetrics);
    this.instruments = this.metrics.instruments;
    this.domain = domainOf(values["api-domain"], values["label-domain"] || undefined);
    this.selected = selected(values.controllers);
    this.settings = settingsOf(values);
    this.coordinated = featureGates(values["feature-gates"])("CoordinatedLeaderElection");
    const logger = standardLogger(logFormat(values["logging-format"]), values.v);
    this.report = (what, error) => logger.error(what, error);
    checkTimes(values);
    // A kubeconfig that cannot be used is a mistake of whoever starts the program.
    this.endpoint();
  }

  /** Until the signal aborts or the lead is lost. */
  async run(signal: AbortSignal): Promise<void> {
    // Connections outlive the signal, for the lease is given back at the end.
    const connected = new AbortController();
    for (const each of [signal, connected.signal]) setMaxListeners(0, each);
    try {
      const client = this.client(component, connected.signal);
      const close = await this.serve(client);
      const lead = (term: AbortSignal) => this.lead(term);
      const electing = this.values["leader-elect"];
      await (electing ? this.elect(client, signal, lead) : lead(signal)).finally(close);
    } finally {
      connected.abort();
    }
  }

  private async elect(
    client: Client,
    signal: AbortSignal,
    lead: (term: AbortSignal) => Promise<void>,
  ): Promise<void> {
    const { values, clock, identity, instruments, report } = this;
    const namespace = values["leader-elect-resource-namespace"];
    const name = values["leader-elect-resource-name"];
    const random = cryptoRandom;
    const common = { client, clock, random, signal, report };
    const recorder = new EventRecorder({ ...common, controller: component, instance: identity });
    const recording = recorder.run();
    const candidacy = this.coordinated ? this.stand(client, signal) : undefined;
    await runElection({
      ...common,
      ...timesOf(values),
      namespace,
      name,
      identity,
      instruments,
      coordinated: this.coordinated,
      lead,
      onLeader: (leader) => {
        console.log(`keelson: ${leader === identity ? "leading" : `${leader} leads`}`);
        if (leader !== identity) return;
        const lease = { group: resolve("coordination.{api}", this.domain), version: "v1" };
        const handle = { ...lease, plural: "leases", kind: "Lease", namespaced: true };
        const object = { metadata: { namespace, name, uid: "", resourceVersion: "" } };
        const note = `${identity} became leader`;
        const reason = "LeaderElection";
        recorder.record(handle, object, { type: "Normal", reason, action: reason, note });
      },
    });
    if (signal.aborted) await Promise.all([recording, candidacy]);
  }

  /** Stands as a candidate of an election that the API server coordinates. */
  private async stand(client: Client, signal: AbortSignal): Promise<void> {
    const { values, clock, identity, report } = this;
    const version = versionInfo().gitVersion.slice("v".length);
    await runCandidacy({
      client,
      clock,
      identity,
      signal,
      report,
      random: cryptoRandom,
      namespace: values["leader-elect-resource-namespace"],
      leaseName: values["leader-elect-resource-name"],
      binaryVersion: version,
      emulationVersion: version,
    });
  }

  /** Runs the controllers until the signal aborts. */
  private async lead(signal: AbortSignal): Promise<void> {
    const { clock, instruments, settings, report } = this;
    const common = { clock, random: cryptoRandom, signal, report, instruments };
    const client = this.client("shared-informers", signal);
    const informers = new Informers({ ...common, client });
    const run = async (controller: ControllerDescriptor) => {
      try {
        const own = await this.controllerClient(controller, client, signal);
        await controller.run({ ...common, client: own, informers }, settings);
      } catch (error) {
        // What was under way when the term ended.
        if (!signal.aborted) throw error;
      }
    };
    await Promise.all(this.selected.map(run));
    await informers.ended();
  }

  private async controllerClient(
    { name, serviceAccount }: ControllerDescriptor,
    client: Client,
    signal: AbortSignal,
  ): Promise<Client> {
    if (serviceAccount === undefined || !this.values["use-service-account-credentials"]) {
      return this.client(name, signal);
    }
    const { clock, report } = this;
    const token = await serviceAccountToken({ client, clock, signal, report }, serviceAccount);
    const endpoint = () => {
      const { cert: _cert, key: _key, ...tls } = this.endpoint().tls;
      return { ...this.endpoint(), tls, authorization: () => `Bearer ${token()}` };
    };
    return this.client(name, signal, endpoint);
  }

  private client(name: string, signal: AbortSignal, endpoint = () => this.endpoint()): Client {
    const { clock, domain, instruments, values } = this;
    const { host } = endpoint().url;
    const factor = name === "namespace-controller" ? namespaceFactor : 1;
    const perSecond = values["kube-api-qps"] * factor;
    const rate = { perSecond, burst: Math.max(perSecond, values["kube-api-burst"]) };
    const pool = connections({ endpoint, clock, signal });
    const send = retrying(pool, { clock, host, instruments, rate });
    const userAgent = `${component}/${name}`;
    return new HttpClient({ send, domain, clock, userAgent, signal });
  }

  /** Read anew for every connection: certificates may have been renewed. */
  private endpoint(): Endpoint {
    const { kubeconfig: file, master } = this.values;
    if (file === "") throw new UsageError("--kubeconfig must say where the API is");
    try {
      const read = (name: string) => readFileSync(name, "utf8");
      const endpoint = parseKubeconfig(read(file), read);
      const url = master === "" ? endpoint.url : new URL(master);
      if (url.protocol !== "https:") throw new UsageError(`${url.href} is no https URL`);
      return { ...endpoint, url };
    } catch (error) {
      if (!(error instanceof KubeconfigFault)) throw fileFault("kubeconfig", error);
      throw new UsageError(`--kubeconfig: ${error.message}`);
    }
  }

  private async serve(client: Client): Promise<() => void> {
    const { values, clock, metrics } = this;
    const port = values["secure-port"];
    if (port === 0) return () => undefined;
    const certificate = readIfNamed(values, "tls-cert-file");
    const privateKey = readIfNamed(values, "tls-private-key-file");
    const { close } = await serveHealthAndMetrics({
      host: values["bind-address"],
      port,
      ...(certificate && privateKey ? { certificate: { certificate, privateKey } } : {}),
      clientCa: readIfNamed(values, "client-ca-file"),
      client,
      clock,
      metrics: () => metrics.text(),
    });
    return close;
  }
}

function selected(words: readonly string[]): readonly ControllerDescriptor[] {
  try {
    return selectControllers(words.length === 0 ? ["*"] : words);
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(`--controllers: ${error.message}`);
    throw error;
  }
}

function settingsOf(values: Values): ControllerSettings {
  const rootCa = readIfNamed(values, "root-ca-file");
  const pem = readIfNamed(values, "service-account-private-key-file");
  const workers = {
    namespaceWorkers: values["concurrent-namespace-syncs"],
    garbageCollectorWorkers: values["concurrent-gc-syncs"],
    quotaWorkers: values["concurrent-resource-quota-syncs"],
    quotaResyncMs: values["resource-quota-sync-period"],
  };
  const signing = signingOf(values);
  const common = { ...workers, settleMs, rootCa, ...(signing === undefined ? {} : { signing }) };
  if (pem === "") return common;
  const key = parseSigningKey(pem);
  return { ...common, signToken: (claims) => signToken(claims, key) };
}

/** @throws UsageError for one file without the other, and for files that do not belong together */
function signingOf(values: Values): ControllerSettings["signing"] {
  const certificate = readIfNamed(values, "cluster-signing-cert-file");
  const privateKey = readIfNamed(values, "cluster-signing-key-file");
  if (certificate === "" && privateKey === "") return undefined;
  const flags = "--cluster-signing-cert-file and --cluster-signing-key-file";
  if (certificate === "" || privateKey === "") throw new UsageError(`${flags} go together`);
  try {
    if (new X509Certificate(certificate).checkPrivateKey(createPrivateKey(privateKey))) {
      const durationMs = values["cluster-signing-duration"];
      return { authority: { certificate, privateKey }, durationMs };
    }
  } catch (error) {
    throw new UsageError(`${flags}: ${(error as Error).message}`);
  }
  throw new UsageError(`${flags} do not belong together`);
}

function timesOf(values: Values) {
  return {
    leaseDurationMs: values["leader-elect-lease-duration"],
    renewDeadlineMs: values["leader-elect-renew-deadline"],
    retryPeriodMs: values["leader-elect-retry-period"],
  };
}

function checkTimes(values: Values): void {
  const fault = values["leader-elect"] ? timesFault(timesOf(values)) : undefined;
  if (fault !== undefined) throw new UsageError(`--leader-elect: ${fault}`);
}

type FileFlag = { [K in keyof Values]: Values[K] extends string ? K : never }[keyof Values];

function readIfNamed(values: Values, name: FileFlag): string {
  const file = values[name];
  try {
    return file === "" ? "" : readFileSync(file, "utf8");
  } catch (error) {
    throw fileFault(name, error);
  }
}

function fileFault(name: string, error: unknown): unknown {
  const { code, path = "" } = error as NodeJS.ErrnoException;
  return code === undefined ? error : new UsageError(`--${name}: ${path} cannot be read (${code})`);
}
