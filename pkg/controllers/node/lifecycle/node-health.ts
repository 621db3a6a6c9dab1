import type { Lease } from "#client";
import type { Node, NodeCondition } from "#kinds";
import { nodeConditionOf } from "./node-conditions.ts";

interface Observation {
  readonly uid: string;
  readonly ready: NodeCondition | undefined;
  readonly renewTime: string | undefined;
  /** Time of the last sign of life, on the clock of this process. */
  readonly probedAt: number;
}

export interface GracePeriods {
  readonly nodeMonitorGraceMs: number;
  readonly nodeStartupGraceMs: number;
}

/**
 * The last sign of life of each node: a renewed Lease or a new heartbeat of the Ready condition.
 * Times are those at which this process saw a change, so that clocks of nodes need not agree.
 */
export class NodeHealth {
  private readonly observations = new Map<string, Observation>();

  constructor(private readonly graces: GracePeriods) {}

  /**
   * Observes the signs of life of a node. Returns the time after which it counts as silent, unless
   * another sign comes: the end of its grace period.
   */
  silentAfter(node: Node, lease: Lease | undefined, now: number): number {
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

  /** Whether this process has looked at the node. */
  isKnown({ metadata }: Node): boolean {
    return this.observations.get(metadata.name)?.uid === metadata.uid;
  }

  /** Status of Ready as this process saw or wrote it last. */
  readyStatusOf(name: string): string | undefined {
    return this.observations.get(name)?.ready?.status;
  }

  /** Takes the condition that this controller wrote, which is no sign of life. */
  wrote(node: Node): void {
    const before = this.observations.get(node.metadata.name);
    if (before === undefined) return;
    const ready = nodeConditionOf(node, "Ready");
    this.observations.set(node.metadata.name, { ...before, ready });
  }

  /** Begins the grace periods of all nodes again. */
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
