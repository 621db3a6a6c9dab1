import { formatNetwork, type IpAddress, networkOf, parseCidr } from "#base";
import type { Node } from "#kinds";
import { podCidrsAnnotation, simulatedNodeLabel } from "./simulated.ts";

/** Simulated nodes that run in this process, whatever the API says about them. */
export interface OwnNodes {
  /** Whether a node has the name of one of them. */
  readonly has: (name: string) => boolean;
  /** CIDRs from which they take the addresses of their pods. */
  readonly podCidrs: readonly string[];
}

/**
 * Index of the simulated nodes and of the ranges from which they give addresses to pods. A deleted node
 * stays in the index, since objects may still name its pods, until an ordinary node has its name.
 */
export class SimulatedNodes {
  /** Ranges by node. */
  private readonly ranges = new Map<string, readonly string[]>();
  /** Nodes by range, by number of address bytes and prefix bits. */
  private readonly nodes = new Map<string, Map<string, Set<string>>>();

  constructor(private readonly own: OwnNodes | undefined) {
    if (own !== undefined) this.insert("", own.podCidrs);
  }

  /** Adds a node with the label, or removes one without it. */
  set(node: Node): void {
    const { name, labels, annotations } = node.metadata;
    this.remove(name);
    if (labels?.[simulatedNodeLabel] !== "true") return;
    const { podCIDR, podCIDRs = podCIDR === undefined ? [] : [podCIDR] } = node.spec ?? {};
    const published = annotations?.[podCidrsAnnotation]?.split(",") ?? [];
    this.insert(name, [...podCIDRs, ...published]);
  }

  has(name: string): boolean {
    return this.own?.has(name) === true || (name !== "" && this.ranges.has(name));
  }

  /** The node in whose range the address is; "" = one of this process; undefined = none. */
  nodeWith(address: IpAddress): string | undefined {
    for (const [size, networks] of this.nodes) {
      const [bytes, prefix] = size.split("/").map(Number);
      if (bytes !== address.length || prefix === undefined) continue;
      const [node] = networks.get(formatNetwork({ address, prefix })) ?? [];
      if (node !== undefined) return node;
    }
    return undefined;
  }

  private insert(name: string, cidrs: readonly string[]): void {
    this.ranges.set(name, cidrs);
    for (const { size, network } of cidrs.flatMap(networksOf)) {
      const networks = this.nodes.get(size) ?? new Map<string, Set<string>>();
      this.nodes.set(size, networks);
      networks.set(network, (networks.get(network) ?? new Set()).add(name));
    }
  }

  private remove(name: string): void {
    for (const { size, network } of (this.ranges.get(name) ?? []).flatMap(networksOf)) {
      const networks = this.nodes.get(size);
      const names = networks?.get(network);
      names?.delete(name);
      if (names?.size === 0) networks?.delete(network);
      if (networks?.size === 0) this.nodes.delete(size);
    }
    this.ranges.delete(name);
  }
}

/** The key of a range in the index; none if it is invalid. */
function networksOf(text: string): readonly { readonly size: string; readonly network: string }[] {
  const cidr = parseCidr(text.trim());
  if (cidr === undefined) return [];
  const { address, prefix } = networkOf(cidr);
  return [{ size: `${address.length}/${prefix}`, network: formatNetwork(cidr) }];
}
