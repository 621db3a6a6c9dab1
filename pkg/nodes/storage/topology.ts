import type { Informer, Informers } from "#client";
import { type CsiNode, csiNodes, type Node, nodes, type StorageClass } from "#kinds";
import type { Domain } from "#meta";
import { prefix } from "../annotations.ts";
import { stableFraction } from "../identifiers.ts";
import { driverName } from "./driver.ts";

/** Label of nodes by which the simulated driver tells where volumes can be reached. */
export const topologyKey = `topology.${prefix}/zone`;

/** The node that the scheduler chose has no simulated driver, or is gone. */
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

  /** Calls the listener when zones may have come or gone. */
  onChange(listener: () => void): void {
    this.csiNodes.subscribe(listener);
    this.nodes.subscribe((change) => {
      const before = change.type === "updated" ? change.before.metadata.labels : {};
      const now = change.type === "deleted" ? {} : change.object.metadata.labels;
      if (before?.[topologyKey] !== now?.[topologyKey]) listener();
    });
  }

  /** The name that the driver has for a node; undefined = it is not registered there. */
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

  /** The zones in which a class may have volumes. */
  zonesFor({ allowedTopologies }: StorageClass): readonly string[] {
    const allowed = zonesOf(allowedTopologies);
    return this.zones().filter((zone) => allowed?.includes(zone) ?? true);
  }

  /**
   * The zone to make a volume in: that of the node that the scheduler chose, else one of those that
   * the class allows, by the name of the claim so that replicas spread.
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

/** Node affinity of a volume that nodes of one zone can reach. */
export function affinityTo(zone: string) {
  const requirement = { key: topologyKey, operator: "In", values: [zone] };
  return { required: { nodeSelectorTerms: [{ matchExpressions: [requirement] }] } };
}
