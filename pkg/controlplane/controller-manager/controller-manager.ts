import { setMaxListeners } from "node:events";
import { hostname } from "node:os";
import { type AdjustableLogger, type Clock, cryptoRandom } from "#base";
import {
  type Client,
  clientMetrics,
  http2Transport,
  EventRecorder,
  HttpClient,
  Informers,
  leases,
  withRetries,
  runLeaseCandidate,
  runElection,
} from "#client";
import {
  type ControllerDescriptor,
  controllerMetrics,
  type ControllerSettings,
} from "#controllers";
import type { Domain } from "#meta";
import type { KeyPair } from "#pki";
import type { Endpoint, Instruments } from "#request";
import { PrometheusMetrics, versionInfo } from "#server";
import { serviceAccountToken } from "./service-account-tokens.ts";
import { serveHealthAndMetrics } from "./serving.ts";

const component = "kube-controller-manager";
/** Deleting the content of a namespace takes many requests: its client has a higher rate limit. */
const namespaceRateFactor = 20;

export interface LeaderElectionOptions {
  /** Namespace of the leader election Lease. */
  readonly namespace: string;
  readonly name: string;
  readonly leaseDurationMs: number;
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
  /** Create a LeaseCandidate, and let the API server elect the leader. */
  readonly coordinated: boolean;
}

export interface ControllerManagerOptions {
  /**
   * Endpoint of the API server; called for each connection, because certificates may be renewed.
   */
  readonly endpoint: () => Endpoint;
  readonly controllers: readonly ControllerDescriptor[];
  readonly settings: ControllerSettings;
  /** Absent = the controllers run without a Lease. */
  readonly leaderElection: LeaderElectionOptions | undefined;
  /** Each controller authenticates as its own ServiceAccount. */
  readonly useServiceAccountCredentials: boolean;
  /** Rate limit of requests to the API server, per controller. */
  readonly requestsPerSecond: number;
  readonly burst: number;
  /** Absent = health and metrics are not served. */
  readonly serving: ServingAddress | undefined;
  readonly domain: Domain;
  readonly clock: Clock;
  readonly logger: AdjustableLogger;
  /** Called with the identity of each new leader; `isOwn` if this process leads. */
  readonly onLeader: (identity: string, isOwn: boolean) => void;
}

export interface ServingAddress {
  readonly host: string;
  readonly port: number;
  /** Absent = a certificate is generated. */
  readonly certificate?: KeyPair;
  /** Directory of the generated certificate; absent = kept in memory. */
  readonly certificateDirectory?: string;
  /** CA certificates that verify client certificates (PEM); "" = none are accepted. */
  readonly clientCa: string;
}

/**
 * Runs the controllers, while this process holds the Lease if leader election is on.
 * @returns once the signal has aborted or the Lease is lost
 */
export async function runControllers(
  options: ControllerManagerOptions,
  signal: AbortSignal,
): Promise<void> {
  await new ControllerManager(options).run(signal);
}

class ControllerManager {
  private readonly metrics = new PrometheusMetrics();
  private readonly instruments: Instruments;
  private readonly report: (what: string, error: unknown) => void;
  private readonly identity = `${hostname()}_${cryptoRandom.uuid()}`;

  constructor(private readonly options: ControllerManagerOptions) {
    this.metrics.observeProcess();
    this.metrics.instruments.define([...clientMetrics, ...controllerMetrics]);
    this.instruments = this.metrics.instruments;
    this.report = (what, error) => options.logger.error(what, error);
  }

  async run(signal: AbortSignal): Promise<void> {
    // Connections stay open after the signal aborts, because the Lease is released last.
    const connected = new AbortController();
    for (const each of [signal, connected.signal]) setMaxListeners(0, each);
    const { leaderElection } = this.options;
    try {
      const client = this.client(component, connected.signal);
      const close = await this.serve(client);
      const lead = (term: AbortSignal) => this.lead(term);
      const work =
        leaderElection === undefined
          ? lead(signal)
          : this.elect(client, { ...leaderElection, signal, lead });
      await work.finally(close);
    } finally {
      connected.abort();
    }
  }

  private async elect(client: Client, election: Election): Promise<void> {
    const { identity, instruments, report } = this;
    const { clock, onLeader } = this.options;
    const { signal } = election;
    const common = { client, clock, random: cryptoRandom, signal, report };
    const recorder = new EventRecorder({ ...common, controller: component, instance: identity });
    const recording = recorder.run();
    const candidacy = election.coordinated ? this.stand(client, election) : undefined;
    await runElection({
      ...common,
      ...election,
      identity,
      instruments,
      onLeader: (leader) => {
        const isOwn = leader === identity;
        onLeader(leader, isOwn);
        if (isOwn) this.recordLeader(recorder, election);
      },
    });
    if (signal.aborted) await Promise.all([recording, candidacy]);
  }

  private recordLeader(recorder: EventRecorder, { namespace, name }: LeaderElectionOptions): void {
    const object = { metadata: { namespace, name, uid: "", resourceVersion: "" } };
    const reason = "LeaderElection";
    const note = `${this.identity} became leader`;
    recorder.record(leases(this.options.domain), object, {
      type: "Normal",
      reason,
      action: reason,
      note,
    });
  }

  /** Maintains the LeaseCandidate of this process, for coordinated leader election. */
  private async stand(client: Client, { namespace, name, signal }: Election): Promise<void> {
    const { identity, report } = this;
    const version = versionInfo().gitVersion.slice("v".length);
    await runLeaseCandidate({
      client,
      clock: this.options.clock,
      identity,
      signal,
      report,
      random: cryptoRandom,
      namespace,
      leaseName: name,
      binaryVersion: version,
      emulationVersion: version,
    });
  }

  /** Runs the controllers until the signal aborts. */
  private async lead(signal: AbortSignal): Promise<void> {
    const { instruments, report } = this;
    const { clock, controllers, settings } = this.options;
    const common = { clock, random: cryptoRandom, signal, report, instruments };
    const client = this.client("shared-informers", signal);
    const informers = new Informers({ ...common, client });
    const run = async (controller: ControllerDescriptor) => {
      try {
        const own = await this.controllerClient(controller, client, signal);
        await controller.run({ ...common, client: own, informers }, settings);
      } catch (error) {
        // Requests in flight fail when the term ends.
        if (!signal.aborted) throw error;
      }
    };
    await Promise.all(controllers.map(run));
    await informers.ended();
  }

  private async controllerClient(
    { name, serviceAccount }: ControllerDescriptor,
    client: Client,
    signal: AbortSignal,
  ): Promise<Client> {
    const { clock, endpoint, useServiceAccountCredentials } = this.options;
    if (serviceAccount === undefined || !useServiceAccountCredentials) {
      return this.client(name, signal);
    }
    const { report } = this;
    const token = await serviceAccountToken({ client, clock, signal, report }, serviceAccount);
    return this.client(name, signal, () => {
      const { tls, ...rest } = endpoint();
      const { cert: _cert, key: _key, ...anonymousTls } = tls;
      return { ...rest, tls: anonymousTls, authorization: () => `Bearer ${token()}` };
    });
  }

  private client(name: string, signal: AbortSignal, endpoint = this.options.endpoint): Client {
    const { instruments } = this;
    const { clock, domain, requestsPerSecond, burst } = this.options;
    const { host } = endpoint().url;
    const factor = name === "namespace-controller" ? namespaceRateFactor : 1;
    const perSecond = requestsPerSecond * factor;
    const rate = { perSecond, burst: Math.max(perSecond, burst) };
    const pool = http2Transport({ endpoint, clock, signal });
    const send = withRetries(pool, { clock, host, instruments, rate });
    const userAgent = `${component}/${name}`;
    return new HttpClient({ send, domain, clock, userAgent, signal });
  }

  private async serve(client: Client): Promise<() => void> {
    const { clock, serving } = this.options;
    if (serving === undefined) return () => undefined;
    const metrics = () => this.metrics.text();
    const { close } = await serveHealthAndMetrics({ ...serving, client, clock, metrics });
    return close;
  }
}

interface Election extends LeaderElectionOptions {
  readonly signal: AbortSignal;
  readonly lead: (term: AbortSignal) => Promise<void>;
}
