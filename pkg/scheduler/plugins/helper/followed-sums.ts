import { setBounded } from "#base";
import type { Snapshot } from "../../cache/snapshot.ts";
import type { SchedulingContext } from "../../framework/contract.ts";
import type { NodeInfo } from "../../framework/node-info.ts";

/**
 * Incremental sums over nodes, cached across scheduling cycles: only changed nodes are recounted. Read-only:
 * cycles copy them to simulate placements.
 */
class FollowedSums<S> {
  private readonly counted = new Map<string, NodeInfo>();
  private generation: number | undefined;

  constructor(
    readonly sums: S,
    private readonly count: CountNode<S>,
  ) {}

  async follow(
    snapshot: Snapshot,
    nodes: readonly NodeInfo[],
    rest: SchedulingContext["rest"],
  ): Promise<void> {
    const { generation } = snapshot;
    if (generation === this.generation) return;
    const changed =
      this.generation === undefined ? undefined : snapshot.changedSince(this.generation);
    const names = changed ?? new Set([...this.counted.keys(), ...nodes.map(({ name }) => name)]);
    for (const name of names) {
      this.recount(name, snapshot.get(name));
      const pause = rest();
      if (pause !== undefined) await pause;
    }
    this.generation = generation;
  }

  /** Recounts a node: subtracts the old NodeInfo, which is immutable, and adds the new one. */
  private recount(name: string, now: NodeInfo | undefined): void {
    const before = this.counted.get(name);
    if (before === now) return;
    if (before !== undefined) this.count(this.sums, before, -1);
    if (now === undefined) {
      this.counted.delete(name);
      return;
    }
    this.count(this.sums, now, 1);
    this.counted.set(name, now);
  }
}

/** Adds (1) or subtracts (-1) the contribution of a node. */
export type CountNode<S> = (sums: S, node: NodeInfo, sign: 1 | -1) => void;

export interface SumsRequest<S> {
  /** Cache key: requests with equal keys have equal sums. */
  readonly key: string;
  readonly empty: () => S;
  readonly count: CountNode<S>;
  /** Nodes that may contribute: all of the snapshot, or those known to be relevant. */
  readonly nodes: readonly NodeInfo[];
}

/** Maximum number of cached sums. */
const maxCached = 32;

/** LRU cache of sums over nodes. */
export class SumsCache<S> {
  private readonly known = new Map<string, FollowedSums<S>>();

  constructor(private readonly snapshot: Snapshot) {}

  /** Sums over the current snapshot; shared, must not be modified. */
  async of(request: SumsRequest<S>, rest: SchedulingContext["rest"]): Promise<S> {
    const { key, empty, count, nodes } = request;
    const sums = this.known.get(key) ?? new FollowedSums(empty(), count);
    setBounded(this.known, [key, sums], maxCached);
    await sums.follow(this.snapshot, nodes, rest);
    return sums.sums;
  }
}
