/** Background work of a server: controllers, compaction, reloads. */
import { heldDuring, realClock } from "#base";
import {
  runKubernetesService,
  runLeaseEndpointReconciler,
  runServiceIpRepair,
  runSystemNamespaces,
} from "#controllers";
import { startCompactor } from "#storage";
import { runAggregation } from "./aggregation.ts";
import type { Assembly } from "./assemble.ts";
import { publishClusterAuthenticationTrust } from "../authentication/cluster-authentication-trust.ts";
import { runLocalControllers } from "../controller-manager/local-controllers.ts";
import { runLocalScheduler } from "../scheduler/local-scheduler.ts";
import { localhost, reachableAddress } from "../network.ts";
import { runOwnMetricsServer } from "./metrics-server.ts";
import { runLocalNodes } from "../nodes/local-nodes.ts";
import { kubernetesServiceOf } from "./run-post-start-hooks.ts";

const defaultCompactionMs = 300_000;

/**
 * Runs until the signal aborts. Begins in the next turn of the event loop: a server is ready before
 * its controllers have listed what is stored.
 */
export async function runBackground(assembly: Assembly): Promise<void> {
  await heldDuring(assembly.clock, "the start of controllers", nextTurn);
  if (assembly.signal.aborted) return;
  const { options, server, credentials, definitions, aggregated, files, signal } = assembly;
  const port = options.port === undefined ? undefined : server.address.port;
  const authority = credentials?.generated?.authority;
  const ownAuthority = authority?.certificate ?? "";
  const rootCa = credentials?.servingCa ?? "";
  const heartbeats = new Map<string, number>();
  const local = { ...assembly, authority, rootCa, port, heartbeats };
  compact(assembly);
  // What no client can reach is seldom read.
  if (port !== undefined) assembly.metrics.observeProcess();
  await Promise.all([
    definitions.done,
    aggregated.run(),
    files.follow(signal),
    publishClusterAuthenticationTrust({ ...assembly, ownAuthority }, signal),
    runServiceIpRepair(assembly),
    runSystemNamespaces(assembly),
    runKubernetesService(kubernetesServiceOf(assembly, port)),
    runEndpoints(assembly, port),
    runAggregation(assembly),
    runLocalControllers(local),
    options.scheduler === true ? runLocalScheduler(assembly) : undefined,
    options.metricsServer === true ? runOwnMetricsServer(assembly) : undefined,
    runLocalNodes(local),
  ]);
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function compact({ options, storage, clock, signal, report }: Assembly): void {
  const intervalMs = options.compactionIntervalMs ?? defaultCompactionMs;
  if (intervalMs <= 0) return;
  const onFault = (error: unknown) => report("Failed to compact the store", error);
  const compactor = startCompactor(storage.backend, {
    clock: realClock(clock),
    intervalMs,
    onFault,
  });
  signal.addEventListener("abort", () => void compactor[Symbol.asyncDispose]());
}

/** Publishes this server as an endpoint of the Service `kubernetes`, if pods can reach it. */
async function runEndpoints(assembly: Assembly, port: number | undefined): Promise<void> {
  const { advertiseAddress, host = localhost } = assembly.options;
  const address = advertiseAddress ?? reachableAddress(host);
  if (port === undefined || address === undefined) return;
  await runLeaseEndpointReconciler({ ...assembly, address, port });
}
