import type { ClusterChange } from "../framework/cluster-events.ts";

/**
 * Changes that happen while pods are being scheduled. A pod that fails must be woken by a change
 * that its attempt may not have seen.
 */
export class InFlight {
  private readonly changes: ClusterChange[] = [];
  /** Number of changes that were dropped from the front of `changes`. */
  private dropped = 0;
  /** First change that concerns a pod, by UID; the oldest pod is first. */
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

  /** Numbers of remembered changes by event, and of pods in flight as `PodPopped`. */
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
    // Moving the rest to the front costs as much as it frees: not for every pod.
    if (obsolete === 0 || (oldest < end && obsolete < this.changes.length / 2)) return;
    this.changes.splice(0, obsolete);
    this.dropped = oldest;
  }
}
