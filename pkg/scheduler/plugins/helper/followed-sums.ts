import { setBounded } from "#base";
import type { Snapshot } from "../../cache/snapshot.ts";
import type { SchedulingContext } from "../../framework/contract.ts";
import type { NodeInfo } from "../../framework/node-info.ts";

/**
 * Sums over nodes that are kept from one attempt to the next: only nodes that have changed since are
 * counted again. Attempts must not change the sums; they copy them to try other placements.
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

  /** Nodes of a snapshot never change, so that the old one tells what it has been counted for. */
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

/** Adds what a node contributes to the sums, or with -1 takes it away. */
export type CountNode<S> = (sums: S, node: NodeInfo, sign: 1 | -1) => void;

export interface SumsRequest<S> {
  /** Sums with the same key are the same. */
  readonly key: string;
  readonly empty: () => S;
  readonly count: CountNode<S>;
  /** Nodes that contribute to the sums: all of the snapshot unless others do not count. */
  readonly nodes: readonly NodeInfo[];
}

/** Number of kinds of pods whose sums are kept. */
const mostKept = 32;

/** Sums over nodes by the properties of pods that they depend on. */
export class SumsCache<S> {
  private readonly known = new Map<string, FollowedSums<S>>();

  constructor(private readonly snapshot: Snapshot) {}

  /** The sums over the present snapshot; they may be shared, and must not be changed. */
  async of(request: SumsRequest<S>, rest: SchedulingContext["rest"]): Promise<S> {
    const { key, empty, count, nodes } = request;
    const sums = this.known.get(key) ?? new FollowedSums(empty(), count);
    setBounded(this.known, [key, sums], mostKept);
    await sums.follow(this.snapshot, nodes, rest);
    return sums.sums;
  }
}
