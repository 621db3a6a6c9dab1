import { setMaxListeners } from "node:events";
import { hostname } from "node:os";
import { type AdjustableLogger, type Clock, cryptoRandom } from "#base";
import {
  type Client,
  clientMetrics,
  http2Transport,
  HttpClient,
  Informers,
  runElection,
  withoutManagedFields,
  withRetries,
} from "#client";
import type { Domain } from "#meta";
import type { Endpoint } from "#request";
import {
  runScheduler,
  schedulerMetrics,
  type SchedulerSettings,
  withoutUnreadFields,
} from "#scheduler";
import { PrometheusMetrics } from "#server";
import type {
  LeaderElectionOptions,
  ServingAddress,
} from "../controller-manager/controller-manager.ts";
import { serveHealthAndMetrics } from "../controller-manager/serving.ts";

const component = "kube-scheduler";

export interface SchedulerProgramOptions {
  /**
   * Endpoint of the API server; called for each connection, because certificates may be renewed.
   */
  readonly endpoint: () => Endpoint;
  readonly settings: SchedulerSettings;
  /** Whether a feature gate is on. */
  readonly gate: (name: string) => boolean;
  /** Absent = pods are scheduled without a Lease. */
  readonly leaderElection: Omit<LeaderElectionOptions, "coordinated"> | undefined;
  /** Rate limit of requests to the API server. */
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

/**
 * Schedules pods against an API server, while this process holds the Lease if leader election is on.
 * @returns once the signal has aborted or the Lease is lost
 */
export async function runSchedulerProgram(
  options: SchedulerProgramOptions,
  signal: AbortSignal,
): Promise<void> {
  const metrics = new PrometheusMetrics();
  metrics.observeProcess();
  metrics.instruments.define([...clientMetrics, ...schedulerMetrics]);
  // Connections stay open after the signal aborts, because the Lease is released last.
  const connected = new AbortController();
  for (const each of [signal, connected.signal]) setMaxListeners(0, each);
  const { leaderElection, serving, clock } = options;
  try {
    const client = clientOf(options, metrics, connected.signal);
    const served =
      serving === undefined
        ? undefined
        : await serveHealthAndMetrics({
            ...serving,
            component,
            client,
            clock,
            metrics: () => metrics.text(),
          });
    const lead = (term: AbortSignal) => schedule(options, metrics, term);
    const work =
      leaderElection === undefined
        ? lead(signal)
        : elect(options, { ...leaderElection, client, metrics, signal, lead });
    await work.finally(() => served?.close());
  } finally {
    connected.abort();
  }
}

interface Election extends Omit<LeaderElectionOptions, "coordinated"> {
  readonly client: Client;
  readonly metrics: PrometheusMetrics;
  readonly signal: AbortSignal;
  readonly lead: (term: AbortSignal) => Promise<void>;
}

async function elect(options: SchedulerProgramOptions, election: Election): Promise<void> {
  const { clock, logger, onLeader } = options;
  const identity = `${hostname()}_${cryptoRandom.uuid()}`;
  await runElection({
    ...election,
    clock,
    random: cryptoRandom,
    identity,
    instruments: election.metrics.instruments,
    report: (what, error) => logger.error(what, error),
    onLeader: (leader) => onLeader(leader, leader === identity),
  });
}

/** Schedules until the signal aborts. */
async function schedule(
  options: SchedulerProgramOptions,
  metrics: PrometheusMetrics,
  signal: AbortSignal,
): Promise<void> {
  const { clock, logger, settings, gate } = options;
  const report = (what: string, error: unknown) => logger.error(what, error);
  const client = clientOf(options, metrics, signal);
  const common = { client, clock, random: cryptoRandom, signal, report };
  const transform = settings.extenders.length > 0 ? withoutManagedFields : withoutUnreadFields;
  const informers = new Informers({ ...common, transform });
  const { instruments } = metrics;
  await runScheduler({ ...common, informers, instruments, gate }, settings);
  await informers.ended();
}

function clientOf(
  { endpoint, clock, domain, requestsPerSecond, burst }: SchedulerProgramOptions,
  { instruments }: PrometheusMetrics,
  signal: AbortSignal,
): Client {
  const { host } = endpoint().url;
  const rate = { perSecond: requestsPerSecond, burst: Math.max(requestsPerSecond, burst) };
  const pool = http2Transport({ endpoint, clock, signal });
  const send = withRetries(pool, { clock, host, instruments, rate });
  return new HttpClient({ send, domain, clock, userAgent: component, signal });
}
