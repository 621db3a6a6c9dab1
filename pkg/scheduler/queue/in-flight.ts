import type { ClusterChange } from "../framework/cluster-events.ts";

/**
 * Cluster changes during scheduling attempts. A failed pod must be requeued by changes that its attempt may
 * have missed (kube-scheduler's in-flight events).
 */
export class InFlight {
  private readonly changes: ClusterChange[] = [];
  /** Number of changes that were dropped from the front of `changes`. */
  private dropped = 0;
  /** Index of the first change after the start of an attempt, by pod UID; oldest attempt first. */
  private readonly starts = new Map<string, number>();

  has(uid: string): boolean {
    return this.starts.has(uid);
  }

  begin(uid: string): void {
    this.starts.set(uid, this.dropped + this.changes.length);
  }

  record(change: ClusterChange): void {
    if (this.starts.size > 0) this.changes.push(change);
  }

  changesSince(uid: string): readonly ClusterChange[] {
    const start = this.starts.get(uid);
    return start === undefined ? [] : this.changes.slice(start - this.dropped);
  }

  /** Number of recorded changes by event label, and of in-flight pods as `PodPopped`. */
  counts(): ReadonlyMap<string, number> {
    const counts = new Map([["PodPopped", this.starts.size]]);
    for (const { event } of this.changes) {
      counts.set(event.label, (counts.get(event.label) ?? 0) + 1);
    }
    return counts;
  }

  end(uid: string): void {
    if (!this.starts.delete(uid)) return;
    const end = this.dropped + this.changes.length;
    const [oldest = end] = this.starts.values();
    const obsolete = oldest - this.dropped;
    // Compacts only if at least half is obsolete, for amortized constant cost.
    if (obsolete === 0 || (oldest < end && obsolete < this.changes.length / 2)) return;
    this.changes.splice(0, obsolete);
    this.dropped = oldest;
  }
}
