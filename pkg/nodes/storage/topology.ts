import type { Informer, Informers } from "#client";
import { type CsiNode, csiNodes, type Node, nodes, type StorageClass } from "#kinds";
import type { Domain } from "#meta";
import { prefix } from "../annotations.ts";
import { stableFraction } from "../identifiers.ts";
import { driverName } from "./driver.ts";

/** Topology label of the simulated driver on nodes. */
export const topologyKey = `topology.${prefix}/zone`;

/** The selected node is deleted, or lacks the simulated driver. */
export class UnusableNode extends Error {
  override readonly name = "UnusableNode";
}

/** Zones of the nodes on which the simulated driver is registered. */
export class Topology {
  private readonly nodes: Informer<Node>;
  private readonly csiNodes: Informer<CsiNode>;

  constructor(informers: Informers, domain: Domain) {
    this.nodes = informers.of(nodes);
    this.csiNodes = informers.of(csiNodes(domain));
  }

  async untilSynced(): Promise<void> {
    await Promise.all([this.nodes.untilSynced(), this.csiNodes.untilSynced()]);
  }

  /** Calls `listener` when zones may have changed. */
  onChange(listener: () => void): void {
    this.csiNodes.subscribe(listener);
    this.nodes.subscribe((change) => {
      const before = change.type === "updated" ? change.before.metadata.labels : {};
      const now = change.type === "deleted" ? {} : change.object.metadata.labels;
      if (before?.[topologyKey] !== now?.[topologyKey]) listener();
    });
  }

  /** Node id of the driver; undefined = not registered on the node. */
  nodeId(node: string): string | undefined {
    const drivers = this.csiNodes.get(node)?.spec?.drivers ?? [];
    return drivers.find(({ name }) => name === driverName)?.nodeID;
  }

  /** All zones, sorted. */
  zones(): readonly string[] {
    const zones = new Set<string>();
    for (const { metadata } of this.csiNodes.all()) {
      const zone = this.zoneOf(metadata.name);
      if (zone !== undefined) zones.add(zone);
    }
    return [...zones].sort();
  }

  /** Zones in which a class may provision volumes. */
  zonesFor({ allowedTopologies }: StorageClass): readonly string[] {
    const allowed = zonesOf(allowedTopologies);
    return this.zones().filter((zone) => allowed?.includes(zone) ?? true);
  }

  /**
   * Zone of a new volume: that of the selected node, else one of the class's zones by hash of the claim name,
   * so that replicas spread.
   * @throws UnusableNode if there is no such zone of the node
   * @throws Error if no zone is possible
   */
  choose(
    { allowedTopologies }: StorageClass,
    { claim, node }: { readonly claim: string; readonly node: string | undefined },
  ): string {
    const allowed = zonesOf(allowedTopologies);
    if (node !== undefined) {
      const zone = this.zoneOf(node);
      if (zone === undefined) throw new UnusableNode(`csinode ${JSON.stringify(node)} not found`);
      if (allowed === undefined || allowed.includes(zone)) return zone;
      const where = `map[${topologyKey}:${zone}]`;
      const requisite = allowed.map((each) => `map[${topologyKey}:${each}]`).join(" ");
      throw accessibility(
        `topology ${where} from selected node ${JSON.stringify(node)} is not in requisite: [${requisite}]`,
      );
    }
    const zones = allowed?.toSorted() ?? this.zones();
    const zone = zones[Math.floor(stableFraction(claim) * zones.length)];
    if (zone === undefined) throw accessibility("no available topology found");
    return zone;
  }

  private zoneOf(node: string): string | undefined {
    if (this.nodeId(node) === undefined) return undefined;
    return this.nodes.get(node)?.metadata.labels?.[topologyKey];
  }
}

function accessibility(why: string): Error {
  return new Error(`error generating accessibility requirements: ${why}`);
}

/** Zones that a class allows; undefined = all. */
function zonesOf(terms: StorageClass["allowedTopologies"]): readonly string[] | undefined {
  if (terms === undefined || terms.length === 0) return undefined;
  return terms.flatMap(({ matchLabelExpressions = [] }) =>
    matchLabelExpressions.flatMap(({ key, values = [] }) => (key === topologyKey ? values : [])),
  );
}

/** Node affinity of a volume that is accessible from one zone. */
export function affinityTo(zone: string) {
  const requirement = { key: topologyKey, operator: "In", values: [zone] };
  return { required: { nodeSelectorTerms: [{ matchExpressions: [requirement] }] } };
}
