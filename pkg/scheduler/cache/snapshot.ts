import type { NodeInfo } from "../framework/node-info.ts";
import { NodeList } from "./node-list.ts";

/** Maximum number of recorded changes, for incremental users. */
const maxChanges = 8_192;

/**
 * Immutable view of the nodes for one scheduling cycle, which may yield to the event loop.
 */
export class Snapshot {
  private readonly zones = new Map<string, string>();
  private readonly all = new NodeList();
  private readonly affine = new NodeList();
  private readonly repelling = new NodeList();
  private isOrderStale = false;
  /** Names of changed nodes in order; the first `forgotten` ones have been dropped. */
  private changes: string[] = [];
  private forgotten = 0;

  /** All nodes, interleaved by zone. */
  get nodes(): readonly NodeInfo[] {
    return this.all.items;
  }

  get withAffinity(): readonly NodeInfo[] {
    return this.affine.items;
  }

  get withRequiredAntiAffinity(): readonly NodeInfo[] {
    return this.repelling.items;
  }

  /** Number of changes of nodes so far. */
  get generation(): number {
    return this.forgotten + this.changes.length;
  }

  /** Names of nodes changed since a generation; undefined = no longer recorded. */
  changedSince(generation: number): ReadonlySet<string> | undefined {
    if (generation < this.forgotten) return undefined;
    return new Set(this.changes.slice(generation - this.forgotten));
  }

  get(name: string): NodeInfo | undefined {
    return this.all.get(name);
  }

  set(name: string, info: NodeInfo, zone: string): void {
    if (this.zones.get(name) !== zone) this.isOrderStale = true;
    this.zones.set(name, zone);
    this.all.set(name, info);
    this.affine.setIf(info.podsWithAffinity.length > 0, name, info);
    this.repelling.setIf(info.podsWithRequiredAntiAffinity.length > 0, name, info);
    this.remember(name);
  }

  delete(name: string): void {
    if (!this.zones.delete(name)) return;
    for (const list of [this.all, this.affine, this.repelling]) list.delete(name);
    this.isOrderStale = true;
    this.remember(name);
  }

  /** Restores the zone order after changes. */
  refresh(): void {
    if (!this.isOrderStale) return;
    this.isOrderStale = false;
    this.all.arrange(this.zoneOrder());
  }

  private remember(name: string): void {
    this.changes.push(name);
    if (this.changes.length < 2 * maxChanges) return;
    this.forgotten += maxChanges;
    this.changes = this.changes.slice(maxChanges);
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
