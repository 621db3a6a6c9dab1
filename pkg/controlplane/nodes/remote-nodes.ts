/** Simulated nodes in a separate process. */
import { setMaxListeners } from "node:events";
import { type AdjustableLogger, type Clock, cryptoRandom } from "#base";
import {
  clientMetrics,
  http2Transport,
  HttpClient,
  Informers,
  withoutManagedFields,
  withRetries,
} from "#client";
import type { Domain } from "#meta";
import { defaultNodesSettings, type KubeletServing, type NodesSettings, runNodes } from "#nodes";
import { createAuthority } from "#pki";
import type { Endpoint } from "#request";
import { PrometheusMetrics, versionInfo } from "#server";
import { localhost, reachableAddress } from "../network.ts";
import { kubeletCertificate } from "./kubelet-access.ts";
import { clientAs } from "./stage-clients.ts";

export interface RemoteNodesOptions {
  readonly endpoint: Endpoint;
  /** Absent settings have their defaults. */
  readonly settings: Partial<NodesSettings> & Pick<NodesSettings, "count">;
  /** IP address of the nodes; undefined = the host's. */
  readonly address: string | undefined;
  /** CA certificates that verify clients of the kubelets (PEM); "" = the kubelets do not serve. */
  readonly clientCa: string;
  /** Rate limit of requests to the API server. */
  readonly requestsPerSecond: number;
  readonly burst: number;
  readonly domain: Domain;
  readonly clock: Clock;
  readonly logger: AdjustableLogger;
}

const caDays = 3650;

/**
 * Runs simulated nodes against an API server until the signal aborts. All of them use the
 * credentials of the endpoint: a certificate per node would require a connection per node.
 */
export async function runRemoteNodes(
  options: RemoteNodesOptions,
  signal: AbortSignal,
): Promise<void> {
  const { clock, domain, endpoint, logger, requestsPerSecond, burst } = options;
  const { instruments } = new PrometheusMetrics();
  instruments.define(clientMetrics);
  setMaxListeners(0, signal);
  const report = (what: string, error: unknown) => logger.error(what, error);
  const rate = { perSecond: requestsPerSecond, burst: Math.max(requestsPerSecond, burst) };
  const pool = http2Transport({ endpoint: () => endpoint, clock, signal });
  const { host } = endpoint.url;
  const send = withRetries(pool, { clock, host, instruments, rate });
  const userAgent = "keelson-nodes";
  const http = { send, domain, clock, userAgent, signal };
  const client = new HttpClient(http);
  const stageClients = { client, as: async (username: string) => clientAs(http, username) };
  const address = options.address ?? reachableAddress(localhost) ?? localhost;
  const common = { clock, signal, report, random: cryptoRandom, instruments };
  const informers = new Informers({ ...common, client, transform: withoutManagedFields });
  const settings = {
    ...defaultNodesSettings,
    kubeletVersion: versionInfo().gitVersion,
    ...options.settings,
    address,
    storage: { ...defaultNodesSettings.storage, ...options.settings.storage, isElected: true },
  };
  const serving = await servingOf(options, address, client);
  const clients = {
    nodesClient: client,
    stageClients,
    storageClient: client,
    clientOf: () => client,
  };
  await runNodes({ ...common, ...clients, informers, serving }, settings);
  await informers.ended();
}

async function servingOf(
  { clientCa, clock }: RemoteNodesOptions,
  address: string,
  client: HttpClient,
): Promise<KubeletServing | undefined> {
  if (clientCa === "") return undefined;
  const now = clock.now();
  const authority = await createAuthority("simulated-nodes-ca", { validDays: caDays, now });
  const leaf = await kubeletCertificate(authority, { address, clock });
  return { ...leaf, clientCa, client };
}
