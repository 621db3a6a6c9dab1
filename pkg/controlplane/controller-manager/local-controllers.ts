/** The controllers in the process of the API server itself. */
import { hostname } from "node:os";
import { setImmediate } from "node:timers/promises";
import { signToken } from "#authn";
import { type Clock, cryptoRandom } from "#base";
import { clientMetrics, Informers, RegistryClient, runElection, usualTimes } from "#client";
import {
  type ControllerContext,
  runCoordinatedElection,
  runIdentityLease,
  runServerObjects,
  selectControllers,
  signingDurationMs,
  defaultControllerSettings,
} from "#controllers";
import { type Catalog, resolve } from "#meta";
import type { KeyPair } from "#pki";
import { apiserver, apiserverAgent, type Registry } from "#registry";
import type { User } from "#request";
import type { PrometheusMetrics } from "#server";
import { namespaceSettleMs, type StartOptions } from "../options.ts";
import { serviceAccountKeys } from "../authentication/service-accounts.ts";

/** Who the controllers are to the API. */
const controllerUser: User = { ...apiserver, name: "system:kube-controller-manager" };

export interface LocalControllers {
  readonly registry: Registry;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly report: (what: string, error: unknown) => void;
  readonly metrics: PrometheusMetrics;
  readonly options: StartOptions;
  /** Whether a feature gate is on. */
  readonly gates: (name: string) => boolean;
  /** Authorities of this server (PEM); "" = it has no certificate. */
  readonly rootCa: string;
  /** Signs certificates of clients and kubelets; undefined = nobody does. */
  readonly authority: KeyPair | undefined;
  /** Where the server listens; undefined = nowhere. */
  readonly port: number | undefined;
}

/**
 * Runs what every server keeps for itself and, unless the options say that others do, every
 * controller until the signal aborts.
 */
export async function runLocalControllers(local: LocalControllers): Promise<void> {
  const { metrics, options, port, gates } = local;
  metrics.instruments.define(clientMetrics);
  const context = contextOf(local, apiserver, apiserverAgent);
  const server = { ...context, hostname: hostname(), port: port ?? 0 };
  // Whoever waited for the server comes first.
  await setImmediate();
  await Promise.all([
    runServerObjects(local, context),
    port !== undefined && gates("APIServerIdentity") ? runIdentityLease(server) : undefined,
    hasCandidates(local) ? coordinate(context) : undefined,
    options.controllers === false ? undefined : runControllers(local),
  ]);
  await context.informers.ended();
}

/** Elections are coordinated where that is switched on and candidates are served. */
function hasCandidates({ gates, catalog }: LocalControllers): boolean {
  const group = resolve("coordination.{api}", catalog.domain);
  const resource = catalog.find(group, "v1beta1", "leasecandidates");
  return gates("CoordinatedLeaderElection") && resource !== undefined;
}

/** Of several servers one coordinates the elections of others; it is elected the usual way. */
async function coordinate(context: ControllerContext): Promise<void> {
  const { signal, random, client } = context;
  const identity = `${hostname()}_${random.uuid()}`;
  while (!signal.aborted) {
    await runElection({
      ...context,
      ...usualTimes,
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

async function runControllers(local: LocalControllers): Promise<void> {
  const { rootCa, authority, options } = local;
  const context = contextOf(local, controllerUser, "kube-controller-manager");
  const { key } = serviceAccountKeys(options.serviceAccounts);
  const settings = {
    ...defaultControllerSettings,
    settleMs: namespaceSettleMs(options),
    rootCa,
    ...(authority === undefined ? {} : { signing: { authority, durationMs: signingDurationMs } }),
    signToken: (claims: Readonly<Record<string, string>>) => signToken(claims, key),
  };
  // Tokens with which nodes join are signed with, and cleaned up, where they are taken.
  const ofTokens = options.bootstrapTokens ? ["bootstrapsigner", "tokencleaner"] : [];
  await Promise.all(selectControllers(["*", ...ofTokens]).map(({ run }) => run(context, settings)));
  await context.informers.ended();
}

function contextOf(local: LocalControllers, user: User, userAgent: string): ControllerContext {
  const { clock, signal, report, metrics } = local;
  const client = new RegistryClient({ ...local, user, userAgent });
  const common = { client, clock, random: cryptoRandom, signal, report };
  return { ...common, informers: new Informers(common), instruments: metrics.instruments };
}
