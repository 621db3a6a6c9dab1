import { type Cidr, parseCidr } from "#base";
import { type Informer, type WorkQueue, CoreEventRecorder } from "#client";
import { type Node, nodes as nodeResource } from "#kinds";
import { ignoreNotFound, StatusError } from "#meta";
import type { MetricDefinition } from "#request";
import { type ControllerContext, newWorkQueue } from "../../controller-context.ts";
import { CidrSet } from "./cidr-set.ts";
import type { NodeIpamSettings } from "./node-ipam-settings.ts";

export interface NodeIpamOptions {
  /** Absent = the controller does not run. */
  readonly nodeIpam?: NodeIpamSettings;
}

const workers = 30;
const gatewayTimeout = 504;
const prefix = "node_ipam_controller_";
const labels = ["clusterCIDR"];

export const nodeIpamMetrics: readonly MetricDefinition[] = [
  {
    name: `${prefix}cidrset_cidrs_allocations_total`,
    kind: "counter",
    help: "Number of networks allocated to nodes.",
    labels,
  },
  {
    name: `${prefix}cidrset_cidrs_releases_total`,
    kind: "counter",
    help: "Number of networks released.",
    labels,
  },
  {
    name: `${prefix}cirdset_max_cidrs`,
    kind: "gauge",
    help: "Number of networks of nodes that a cluster network holds.",
    labels,
  },
  {
    name: `${prefix}cidrset_usage_cidrs`,
    kind: "gauge",
    help: "Fraction of the networks of a cluster network that are in use.",
    labels,
  },
];

/** Allocates a pod network (`spec.podCIDRs`) to each node from each cluster network. */
export async function runNodeIpamController(
  context: ControllerContext,
  { nodeIpam }: NodeIpamOptions,
): Promise<void> {
  if (nodeIpam !== undefined) await new NodeIpamController(context, nodeIpam).run();
}

class NodeIpamController {
  private readonly queue: WorkQueue;
  private readonly recorder: CoreEventRecorder;
  private readonly nodes: Informer<Node>;
  private readonly sets: readonly CidrSet[];
  /** UIDs of nodes with allocated networks that the informer does not show yet. */
  private readonly assigned = new Set<string>();

  constructor(
    private readonly context: ControllerContext,
    { clusterNetworks, serviceNetworks }: NodeIpamSettings,
  ) {
    this.queue = newWorkQueue(context, "cidrallocator_node");
    this.recorder = new CoreEventRecorder(context, "cidrAllocator");
    this.nodes = context.informers.of(nodeResource);
    this.sets = clusterNetworks.map(({ cidr, nodePrefix }) => new CidrSet(cidr, nodePrefix));
    for (const set of this.sets) {
      for (const network of serviceNetworks) set.reserve(network);
    }
    context.instruments.beforeRead(() => this.setGauges());
  }

  async run(): Promise<void> {
    const { nodes } = this;
    await nodes.untilSynced();
    // Occupies the networks in use before the first allocation.
    nodes.subscribe(({ type, object }) => {
      const { name, uid } = object.metadata;
      const cidrs = object.spec?.podCIDRs ?? [];
      if (type === "deleted" || cidrs.length > 0) this.assigned.delete(uid);
      if (type === "deleted") this.forEachNetwork(object, (set, cidr) => this.release(set, cidr));
      else if (cidrs.length > 0) this.forEachNetwork(object, (set, cidr) => set.occupy(cidr));
      else this.queue.add(name);
    });
    await Promise.all([
      this.queue.run((name) => this.sync(name), { workers }),
      this.recorder.run(),
    ]);
  }

  /** Calls `work` for each network of a node; reports networks outside the cluster networks. */
  private forEachNetwork({ metadata, spec }: Node, work: (set: CidrSet, cidr: Cidr) => void): void {
    for (const [index, text] of (spec?.podCIDRs ?? []).entries()) {
      const cidr = parseCidr(text);
      const set = this.sets[index];
      try {
        if (cidr === undefined || set === undefined) {
          throw new RangeError(`pod CIDR ${text} is in no cluster CIDR`);
        }
        work(set, cidr);
      } catch (error) {
        this.context.report(`Pod CIDRs of node ${metadata.name}`, error);
      }
    }
  }

  private release(set: CidrSet, cidr: Cidr): void {
    set.release(cidr);
    const name = `${prefix}cidrset_cidrs_releases_total`;
    this.context.instruments.add(name, { clusterCIDR: set.label }, 1);
  }

  private async sync(name: string): Promise<void> {
    const node = this.nodes.get(name);
    if (node === undefined || node.metadata.deletionTimestamp !== undefined) return;
    const { uid } = node.metadata;
    if ((node.spec?.podCIDRs ?? []).length > 0 || this.assigned.has(uid)) return;
    const taken = this.allocate(node);
    const podCIDRs = taken.map(({ network }) => network);
    const body = { metadata: { uid }, spec: { podCIDR: podCIDRs[0], podCIDRs } };
    const { client } = this.context;
    this.assigned.add(uid);
    try {
      const patched = await client
        .patch(nodeResource, { name }, { type: "strategic", body })
        .catch(ignoreNotFound);
      if (patched === undefined) this.releaseAll(taken);
      // The informer may have shown the node's deletion already.
      if (this.nodes.get(name)?.metadata.uid !== uid && this.assigned.delete(uid)) {
        this.releaseAll(taken);
      }
    } catch (error) {
      this.assigned.delete(uid);
      this.record(node, "CIDRAssignmentFailed");
      // After a server timeout the write may have succeeded.
      if (!(error instanceof StatusError) || error.code !== gatewayTimeout) this.releaseAll(taken);
      throw error;
    }
  }

  /** @throws Error if a network of the cluster has no free ones */
  private allocate(node: Node): readonly Allocation[] {
    const taken: Allocation[] = [];
    for (const [index, set] of this.sets.entries()) {
      const network = set.allocate();
      if (network === undefined) {
        this.releaseAll(taken);
        this.record(node, "CIDRNotAvailable");
        throw new Error(
          `failed to allocate cidr from cluster cidr at idx:${index}: CIDR allocation failed; ` +
            "there are no remaining CIDRs left to allocate in the accepted range",
        );
      }
      taken.push({ set, network });
      const name = `${prefix}cidrset_cidrs_allocations_total`;
      this.context.instruments.add(name, { clusterCIDR: set.label }, 1);
    }
    return taken;
  }

  private releaseAll(taken: readonly Allocation[]): void {
    for (const { set, network } of taken) {
      const cidr = parseCidr(network);
      if (cidr !== undefined) this.release(set, cidr);
    }
  }

  private record(node: Node, reason: string): void {
    const message = `Node ${node.metadata.name} status is now: ${reason}`;
    this.recorder.record(nodeResource, node, { type: "Normal", reason, message });
  }

  private setGauges(): void {
    const { instruments } = this.context;
    for (const set of this.sets) {
      const clusterCIDR = set.label;
      instruments.set(`${prefix}cirdset_max_cidrs`, { clusterCIDR }, set.size);
      instruments.set(`${prefix}cidrset_usage_cidrs`, { clusterCIDR }, set.usage);
    }
  }
}

interface Allocation {
  readonly set: CidrSet;
  readonly network: string;
}
