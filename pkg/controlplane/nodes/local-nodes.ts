/** Simulated nodes in the process of the API server. */
import { setMaxListeners } from "node:events";
import { type Clock, cryptoRandom } from "#base";
import { type Client, Informers, RegistryClient } from "#client";
import type { Catalog } from "#meta";
import {
  defaultNodesSettings,
  type KubeletServing,
  type NodesContext,
  type NodesSettings,
  runNodes,
} from "#nodes";
import { apiserver, type Registry } from "#registry";
import type { User } from "#request";
import { type KeelsonServer, type PrometheusMetrics, versionInfo } from "#server";
import type { Credentials } from "../credentials/credentials.ts";
import { localhost, reachableAddress } from "../network.ts";
import type { StartOptions } from "../options.ts";
import { kubeletCertificate } from "./kubelet-access.ts";
import { localStageClients } from "./stage-clients.ts";

export interface LocalNodes {
  readonly registry: Registry;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly report: (what: string, error: unknown) => void;
  readonly metrics: PrometheusMetrics;
  readonly options: StartOptions;
  /** Whether a feature gate is on. */
  readonly gates: (name: string) => boolean;
  readonly credentials: Credentials | undefined;
  readonly server: KeelsonServer;
  /** Receives the times of the next Lease renewal, by node. */
  readonly heartbeats: Map<string, number>;
  /** Bearer token of a member of system:masters. */
  readonly token: string;
}

/** The user of a kubelet, as the node authorizer and NodeRestriction expect it. */
function nodeUser(name: string): User {
  const groups = ["system:nodes", "system:authenticated"];
  return { name: `system:node:${name}`, uid: "", groups, extra: new Map() };
}

/** The user of the informers of all nodes, and of Stages for Pods and Nodes. */
const nodesUser: User = {
  name: "system:simulated-nodes",
  uid: "",
  groups: ["system:masters", "system:authenticated"],
  extra: new Map(),
};

/** The user of the simulated CSI driver's controllers. */
const storageUser: User = { ...nodesUser, name: "system:simulated-storage" };

/** Runs the simulated nodes of the options until the signal aborts. */
export async function runLocalNodes(local: LocalNodes): Promise<void> {
  const { nodes } = local.options;
  if (nodes === undefined || nodes.count === 0) return;
  const { clock, signal, report, metrics, heartbeats } = local;
  const userAgent = "kubelet";
  const client = (user: User) => {
    const identity = { user, userAgent, signal };
    const own = new RegistryClient({ ...local, ...identity });
    return local.options.wrapClient?.(own, identity) ?? own;
  };
  const common = { clock, signal, report, random: cryptoRandom };
  const nodesClient = client(nodesUser);
  const informers = new Informers({ ...common, client: nodesClient });
  const settings = { ...localSettings(local), ...nodes };
  const serving = await servingOf(local, settings.address, client(apiserver));
  const context: NodesContext = {
    ...common,
    heartbeats,
    informers,
    nodesClient,
    stageClients: localStageClients(local),
    clientOf: (name) => client(nodeUser(name)),
    storageClient: client(storageUser),
    instruments: metrics.instruments,
    serving,
  };
  setMaxListeners(0, signal);
  await runNodes(context, settings);
  await informers.ended();
}

/** Undefined for a server without a generated CA, which could not trust the nodes. */
async function servingOf(
  { credentials, clock }: LocalNodes,
  address: string,
  client: Client,
): Promise<KubeletServing | undefined> {
  const authority = credentials?.generated?.authority;
  if (authority === undefined) return undefined;
  const leaf = await kubeletCertificate(authority, { address, clock });
  return { ...leaf, clientCa: authority.certificate, client };
}

/** Whether node IPAM runs in this process and gives nodes a podCIDR. */
function allocatesPodCidrs({
  selected,
  settings,
}: NonNullable<StartOptions["controllerManager"]> = {}): boolean {
  const isSelected = selected?.some(({ alias }) => alias === "nodeipam") ?? true;
  return isSelected && settings?.nodeIpam !== undefined;
}

function localSettings({ options, gates }: LocalNodes): NodesSettings {
  const { host = localhost, advertiseAddress, controllers, controllerManager } = options;
  return {
    ...defaultNodesSettings,
    allocatesPodCidrs: controllers !== false && allocatesPodCidrs(controllerManager),
    reportsDeviceHealth: gates("ResourceHealthStatus"),
    address: advertiseAddress ?? reachableAddress(host) ?? localhost,
    kubeletVersion: versionInfo().gitVersion,
  };
}
