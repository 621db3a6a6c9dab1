import type { NodeInfo } from "../framework/node-info.ts";

/**
 * Nodes as one attempt to schedule a pod sees them. They do not change during an attempt, however
 * often it yields.
 */
export class Snapshot {
  private readonly byName = new Map<string, NodeInfo>();
  private readonly zones = new Map<string, string>();
  private order: readonly string[] = [];
  private isOrderStale = false;
  private areListsStale = false;
  /** All nodes, taking one of each zone in turn. */
  nodes: readonly NodeInfo[] = [];
  withAffinity: readonly NodeInfo[] = [];
  withRequiredAntiAffinity: readonly NodeInfo[] = [];

  get(name: string): NodeInfo | undefined {
    return this.byName.get(name);
  }

  set(name: string, info: NodeInfo, zone: string): void {
    if (!this.byName.has(name) || this.zones.get(name) !== zone) this.isOrderStale = true;
    this.byName.set(name, info);
    this.zones.set(name, zone);
    this.areListsStale = true;
  }

  delete(name: string): void {
    if (!this.byName.delete(name)) return;
    this.zones.delete(name);
    this.isOrderStale = true;
    this.areListsStale = true;
  }

  /** Recomputes the lists after changes. */
  refresh(): void {
    if (this.isOrderStale) this.order = this.zoneOrder();
    this.isOrderStale = false;
    if (!this.areListsStale) return;
    this.areListsStale = false;
    this.nodes = this.order.map((name) => this.byName.get(name)!);
    this.withAffinity = this.nodes.filter((node) => node.podsWithAffinity.length > 0);
    this.withRequiredAntiAffinity = this.nodes.filter(
      (node) => node.podsWithRequiredAntiAffinity.length > 0,
    );
  }

  private zoneOrder(): readonly string[] {
    const byZone = new Map<string, string[]>();
    for (const [name, zone] of this.zones) {
      const names = byZone.get(zone) ?? [];
      names.push(name);
      byZone.set(zone, names);
    }
    const zones = [...byZone.values()];
    const longest = zones.reduce((most, names) => Math.max(most, names.length), 0);
    const order: string[] = [];
    for (let at = 0; at < longest; at++) {
      for (const names of zones) if (at < names.length) order.push(names[at]!);
    }
    return order;
  }
}
