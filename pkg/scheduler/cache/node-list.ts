import type { NodeInfo } from "../framework/node-info.ts";

/** Array of nodes with an index by name. */
export class NodeList {
  private readonly nodes: NodeInfo[] = [];
  private readonly names: string[] = [];
  private readonly positions = new Map<string, number>();

  get items(): readonly NodeInfo[] {
    return this.nodes;
  }

  get(name: string): NodeInfo | undefined {
    const at = this.positions.get(name);
    return at === undefined ? undefined : this.nodes[at];
  }

  /** Adds a node at the end, or replaces the one of this name in its position. */
  set(name: string, node: NodeInfo): void {
    const at = this.positions.get(name) ?? this.nodes.length;
    this.positions.set(name, at);
    this.nodes[at] = node;
    this.names[at] = name;
  }

  setIf(isMember: boolean, name: string, node: NodeInfo): void {
    if (isMember) this.set(name, node);
    else this.delete(name);
  }

  /** Removes a node; the last node takes its position. */
  delete(name: string): void {
    const at = this.positions.get(name);
    if (at === undefined) return;
    this.positions.delete(name);
    const node = this.nodes.pop()!;
    const moved = this.names.pop()!;
    if (at === this.nodes.length) return;
    this.nodes[at] = node;
    this.names[at] = moved;
    this.positions.set(moved, at);
  }

  /** Sorts the nodes by `order`, which contains each name once. */
  arrange(order: readonly string[]): void {
    const nodes = order.map((name) => this.get(name)!);
    for (const [at, name] of order.entries()) {
      this.nodes[at] = nodes[at]!;
      this.names[at] = name;
      this.positions.set(name, at);
    }
  }
}
