/** The controllers in the process of the API server. */
import { hostname } from "node:os";
import { setImmediate } from "node:timers/promises";
import { signToken } from "#authn";
import { type Clock, cryptoRandom } from "#base";
import { clientMetrics, Informers, runElection, defaultElectionTimes } from "#client";
import {
  type ControllerContext,
  controllerMetrics,
  runCoordinatedElection,
  runIdentityLease,
  runServerObjects,
  selectControllers,
  signingDurationMs,
  defaultControllerSettings,
} from "#controllers";
import { controlledRegistry, type FlowController } from "#flowcontrol";
import { type Catalog, resolve } from "#meta";
import type { KeyPair } from "#pki";
import { apiserver, apiserverAgent, type Registry } from "#registry";
import type { User } from "#request";
import type { PrometheusMetrics } from "#server";
import { hasLease } from "../cluster/server-identity.ts";
import { localhost, reachableAddress, urlHost } from "../network.ts";
import type { AggregatedApis } from "../start/aggregated-apis.ts";
import { type ClientWrapper, namespaceSettleMs, type StartOptions } from "../options.ts";
import { serviceAccountKeys } from "../authentication/service-accounts.ts";

/** User of the controllers' requests. */
const controllerUser: User = { ...apiserver, name: "system:kube-controller-manager" };

export interface LocalControllers {
  readonly registry: Registry;
  readonly aggregated: AggregatedApis;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly report: (what: string, error: unknown) => void;
  readonly metrics: PrometheusMetrics;
  readonly options: StartOptions;
  /** Undefined = API Priority and Fairness is disabled. */
  readonly flowControl: { readonly controller: FlowController } | undefined;
  /** Whether a feature gate is on. */
  readonly gates: (name: string) => boolean;
  /** CA certificates of this server (PEM); "" = it has no certificate. */
  readonly rootCa: string;
  /** Signs certificates of clients and kubelets; undefined = none are signed. */
  readonly authority: KeyPair | undefined;
  /** Port that the server listens on; undefined = none. */
  readonly port: number | undefined;
  /** Times of the next Lease renewal of the simulated nodes of this process, by node. */
  readonly heartbeats: ReadonlyMap<string, number>;
}

/**
 * Runs the controllers of the API server itself and, unless `options.controllers` is false, those of
 * the controller manager, until the signal aborts.
 */
export async function runLocalControllers(local: LocalControllers): Promise<void> {
  const { metrics, options, port } = local;
  metrics.instruments.define([...clientMetrics, ...controllerMetrics]);
  const context = contextOf(local, apiserver, apiserverAgent);
  const server = { ...context, hostname: hostname(), port: port ?? 0 };
  // Callers that await the start run first.
  await setImmediate();
  // A server may be closed before its controllers have started.
  if (local.signal.aborted) return;
  await Promise.all([
    runServerObjects(local, context),
    port !== undefined && hasLease(local) ? runIdentityLease(server) : undefined,
    hasCandidates(local) ? coordinate(context) : undefined,
    options.controllers === false ? undefined : runControllers(local),
  ]);
  await context.informers.ended();
}

/** Whether CoordinatedLeaderElection is enabled and LeaseCandidates are served. */
function hasCandidates({ gates, catalog }: LocalControllers): boolean {
  const group = resolve("coordination.{api}", catalog.domain);
  const resource = catalog.find(group, "v1beta1", "leasecandidates");
  return gates("CoordinatedLeaderElection") && resource !== undefined;
}

/**
 * Runs the coordinated leader election controller on one of several servers, elected by a Lease.
 */
async function coordinate(context: ControllerContext): Promise<void> {
  const { signal, random, client } = context;
  const identity = `${hostname()}_${random.uuid()}`;
  while (!signal.aborted) {
    await runElection({
      ...context,
      ...defaultElectionTimes,
      namespace: "kube-system",
      name: "leader-election-controller",
      identity,
      lead: async (term) => {
        const informers = new Informers({ ...context, client, signal: term });
        await runCoordinatedElection({ ...context, informers, signal: term });
        await informers.ended();
      },
    });
  }
}

/** The cluster-info for joining nodes, if this server listens with a generated certificate. */
function clusterInfoOf({ options, port, rootCa: authorities }: LocalControllers) {
  if (port === undefined || authorities === "") return {};
  const { advertiseAddress, host = localhost } = options;
  const address = advertiseAddress ?? reachableAddress(host) ?? host;
  return { clusterInfo: { server: `https://${urlHost(address)}:${port}`, authorities } };
}

/**
 * CA certificates for kube-root-ca.crt, a placeholder if there are none: simulated pods wait for
 * that ConfigMap.
 */
function rootCaTextOf({ options, rootCa }: LocalControllers) {
  if (rootCa !== "" || (options.nodes?.count ?? 0) === 0) return {};
  return { rootCaText: "# This server has no certificate.\n" };
}

async function runControllers(local: LocalControllers): Promise<void> {
  const { rootCa, authority, options, heartbeats } = local;
  const { wrapClient } = options;
  const context = contextOf(local, controllerUser, "kube-controller-manager", wrapClient);
  const keys = serviceAccountKeys(options.serviceAccounts ?? {});
  const settings = {
    ...defaultControllerSettings,
    ...options.controllerManager?.settings,
    gates: local.gates,
    heartbeats,
    settleMs: namespaceSettleMs(options),
    rootCa,
    ...rootCaTextOf(local),
    ...(authority === undefined ? {} : { signing: { authority, durationMs: signingDurationMs } }),
    signToken: (claims: Readonly<Record<string, string>>) => signToken(claims, keys.signingKey()),
    ...clusterInfoOf(local),
  };
  // Servers that accept bootstrap tokens also sign cluster-info and delete expired tokens.
  const ofTokens = options.bootstrapTokens ? ["bootstrapsigner", "tokencleaner"] : [];
  const { selected = selectControllers(["*", ...ofTokens]) } = options.controllerManager ?? {};
  await Promise.all(selected.map(({ run }) => run(context, settings)));
  await context.informers.ended();
}

function contextOf(
  local: LocalControllers,
  user: User,
  userAgent: string,
  wrapClient: ClientWrapper = (client) => client,
): ControllerContext {
  const { clock, signal, report, metrics, flowControl } = local;
  const registry =
    flowControl === undefined
      ? local.registry
      : controlledRegistry(local.registry, flowControl.controller, clock);
  const identity = { user, userAgent, signal };
  const client = wrapClient(local.aggregated.client(registry, identity), identity);
  const common = { client, clock, random: cryptoRandom, signal, report };
  return { ...common, informers: new Informers(common), instruments: metrics.instruments };
}
