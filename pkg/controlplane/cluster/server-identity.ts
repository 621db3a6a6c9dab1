/** The identity Lease of this server, and the time to wait for other servers with one. */
import { hostname } from "node:os";
import { type Clock, cryptoRandom } from "#base";
import { RegistryClient } from "#client";
import {
  ensureIdentityLease,
  identityLeaseName,
  type IdentityLeaseOptions,
  isOnlyServer,
} from "#controllers";
import { apiserver, apiserverAgent, type ServerAccess } from "#registry";
import { namespaceSettleMs, type StartOptions } from "../options.ts";
import { isWorker } from "../process/workers.ts";

interface Identified extends ServerAccess {
  readonly clock: Clock;
  readonly options: StartOptions;
  /** Whether a feature gate is on. */
  readonly gates: (name: string) => boolean;
}

/**
 * Stores the identity Lease of this server before it is ready, so that other servers on the same
 * etcd see it. Only etcd can be shared by servers.
 */
export async function announceServer(
  server: Identified,
  port: number | undefined,
): Promise<unknown> {
  if (port === undefined || !hasLease(server)) return;
  if (server.options.storage?.kind !== "etcd") return;
  return ensureIdentityLease(identity(server, port));
}

/** Whether servers of this configuration keep an identity Lease. */
export function hasLease({ options, gates }: Pick<Identified, "options" | "gates">): boolean {
  return options.port !== undefined && gates("APIServerIdentity");
}

/** ID of this server: the name of its identity Lease; "" if it has none. */
export function serverId(server: Pick<Identified, "options" | "gates">): string {
  const { port = 0 } = server.options;
  return hasLease(server) ? identityLeaseName({ hostname: hostname(), port }) : "";
}

/**
 * Time in ms for which the caches of other servers may lag behind this one: 0 if this server has
 * the only live identity Lease. Workers share a Lease, which therefore does not show whether there
 * are others.
 */
export async function replicaSettleMs(
  server: Identified,
  port: () => number | undefined,
): Promise<number> {
  const settleMs = namespaceSettleMs(server.options);
  if (settleMs === 0 || isWorker() || !hasLease(server)) return settleMs;
  const own = port();
  if (own === undefined) return settleMs;
  return (await isOnlyServer(identity(server, own))) ? 0 : settleMs;
}

function identity(server: Identified, port: number): IdentityLeaseOptions {
  const client = new RegistryClient({ ...server, user: apiserver, userAgent: apiserverAgent });
  return { ...server, client, random: cryptoRandom, hostname: hostname(), port };
}
