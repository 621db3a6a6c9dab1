import type { Lease } from "#client";
import type { Node, NodeCondition } from "#kinds";
import { nodeConditionOf } from "./node-conditions.ts";

interface Observation {
  readonly uid: string;
  readonly ready: NodeCondition | undefined;
  readonly renewTime: string | undefined;
  /** Time of the last heartbeat, by the clock of this process. */
  readonly probedAt: number;
}

export interface GracePeriods {
  readonly nodeMonitorGraceMs: number;
  readonly nodeStartupGraceMs: number;
}

/**
 * Last heartbeat of each node: a Lease renewal or a new heartbeat of condition Ready. Times are those at
 * which this process observed it, so that clock skew of nodes does not matter.
 */
export class NodeHealth {
  private readonly observations = new Map<string, Observation>();

  constructor(private readonly graces: GracePeriods) {}

  /**
   * Observes the heartbeats of a node. Returns the end of its grace period: without another heartbeat it
   * then counts as unresponsive.
   */
  graceEnd(node: Node, lease: Lease | undefined, now: number): number {
    const { name, uid, creationTimestamp } = node.metadata;
    const ready = nodeConditionOf(node, "Ready");
    const found = this.observations.get(name);
    const before = found?.uid === uid ? found : undefined;
    const renewTime = lease?.spec?.renewTime;
    const isRenewed =
      renewTime !== undefined && (before?.renewTime === undefined || before.renewTime < renewTime);
    const created = Date.parse(creationTimestamp ?? "") || now;
    let probedAt = before?.probedAt ?? (ready === undefined ? created : now);
    if (isRenewed || (before !== undefined && isHeartbeat(before.ready, ready))) probedAt = now;
    const latest = isRenewed ? renewTime : before?.renewTime;
    this.observations.set(name, { uid, ready, renewTime: latest, probedAt });
    const { nodeMonitorGraceMs, nodeStartupGraceMs } = this.graces;
    return probedAt + (ready === undefined ? nodeStartupGraceMs : nodeMonitorGraceMs);
  }

  /** Whether this process has observed the node. */
  isKnown({ metadata }: Node): boolean {
    return this.observations.get(metadata.name)?.uid === metadata.uid;
  }

  /** Status of condition Ready as last observed or written. */
  readyStatusOf(name: string): string | undefined {
    return this.observations.get(name)?.ready?.status;
  }

  /** Records the condition Ready that this controller has written, which is no heartbeat. */
  recordWritten(node: Node): void {
    const before = this.observations.get(node.metadata.name);
    if (before === undefined) return;
    const ready = nodeConditionOf(node, "Ready");
    this.observations.set(node.metadata.name, { ...before, ready });
  }

  /** Restarts the grace periods of all nodes. */
  resetAll(now: number): void {
    for (const [name, observation] of this.observations) {
      this.observations.set(name, { ...observation, probedAt: now });
    }
  }

  forget(name: string): void {
    this.observations.delete(name);
  }
}

function isHeartbeat(before: NodeCondition | undefined, now: NodeCondition | undefined): boolean {
  if (before === undefined || now === undefined) return before !== now;
  return before.lastHeartbeatTime !== now.lastHeartbeatTime;
}
