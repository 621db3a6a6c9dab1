import type { Deployment, DeploymentStatus, ReplicaSet } from "#kinds";
import { scaledValue } from "../../scaled-value.ts";

/** The arithmetic of rollouts: how many pods a Deployment may have and must have. */

/** Stands for no limit and no deadline. */
const unlimited = 2 ** 31 - 1;

/** The unavailable number is 1 where both round to 0, so that a rollout can go on. */
function fenceposts({ spec }: Deployment): {
  readonly surge: number;
  readonly unavailable: number;
} {
  const { maxSurge = 0, maxUnavailable = 0 } = spec.strategy.rollingUpdate ?? {};
  const surge = scaledValue(maxSurge, spec.replicas, "up");
  const unavailable = scaledValue(maxUnavailable, spec.replicas, "down");
  return { surge, unavailable: surge === 0 && unavailable === 0 ? 1 : unavailable };
}

function isRollingUpdate({ spec }: Deployment): boolean {
  return spec.strategy.type === "RollingUpdate";
}

/** Pods above `spec.replicas` that a rollout may make. */
export function maxSurge(deployment: Deployment): number {
  return isRollingUpdate(deployment) ? fenceposts(deployment).surge : 0;
}

/** Pods of `spec.replicas` that may be unavailable during a rollout. */
export function maxUnavailable(deployment: Deployment): number {
  const { replicas } = deployment.spec;
  if (!isRollingUpdate(deployment) || replicas === 0) return 0;
  return Math.min(fenceposts(deployment).unavailable, replicas);
}

/** Sum of `spec.replicas`. */
export function wantedReplicas(sets: readonly ReplicaSet[]): number {
  return sets.reduce((sum, { spec }) => sum + spec.replicas, 0);
}

/** Sum of a number of the statuses. */
export function countIn(
  sets: readonly ReplicaSet[],
  field: "replicas" | "readyReplicas" | "availableReplicas",
): number {
  return sets.reduce((sum, { status }) => sum + (status?.[field] ?? 0), 0);
}

/** Replicas that the new ReplicaSet may have now, of those that all have together. */
export function newSetReplicas(
  { spec }: Deployment,
  newReplicas: number,
  allReplicas: number,
): number {
  if (spec.strategy.type === "Recreate") return spec.replicas;
  const surge = scaledValue(spec.strategy.rollingUpdate?.maxSurge ?? 0, spec.replicas, "up");
  const room = spec.replicas + surge - allReplicas;
  if (room <= 0) return newReplicas;
  return newReplicas + Math.min(room, spec.replicas - newReplicas);
}

/** Replicas to add to a ReplicaSet so that it keeps its share of the Deployment; may be negative. */
export function proportion(
  deployment: Deployment,
  { spec }: ReplicaSet,
  { toAdd, added, maxBefore }: { toAdd: number; added: number; maxBefore: number | undefined },
): number {
  if (spec.replicas === 0 || toAdd === 0 || toAdd === added) return 0;
  const change = shareChange(deployment, spec.replicas, maxBefore);
  const left = toAdd - added;
  return toAdd > 0 ? Math.min(change, left) : Math.max(change, left);
}

function shareChange(deployment: Deployment, size: number, maxBefore: number | undefined): number {
  const { replicas } = deployment.spec;
  if (replicas === 0) return -size;
  const before =
    maxBefore === undefined || maxBefore === 0 ? deployment.status?.replicas : maxBefore;
  if (before === undefined || before === 0) return 0;
  const scaled = (size * (replicas + maxSurge(deployment))) / before;
  return Math.floor(scaled + 0.5) - size;
}

/** Whether all pods are of the newest template, available, and no others are left. */
export function isComplete({ metadata, spec }: Deployment, status: DeploymentStatus): boolean {
  return (
    (status.updatedReplicas ?? 0) === spec.replicas &&
    (status.replicas ?? 0) === spec.replicas &&
    (status.availableReplicas ?? 0) === spec.replicas &&
    Number(status.observedGeneration ?? 0) >= Number(metadata.generation ?? 0)
  );
}

/** Whether a rollout has come forward since the status of the Deployment was written. */
export function isProgressing({ status: before = {} }: Deployment, now: DeploymentStatus): boolean {
  const old = (status: DeploymentStatus) => (status.replicas ?? 0) - (status.updatedReplicas ?? 0);
  return (
    (now.updatedReplicas ?? 0) > (before.updatedReplicas ?? 0) ||
    old(now) < old(before) ||
    (now.readyReplicas ?? 0) > (before.readyReplicas ?? 0) ||
    (now.availableReplicas ?? 0) > (before.availableReplicas ?? 0)
  );
}

/** Seconds that a rollout may take without progress; undefined = any time. */
export function progressDeadline({ spec }: Deployment): number | undefined {
  const { progressDeadlineSeconds: seconds } = spec;
  return seconds === unlimited ? undefined : seconds;
}

/** Old ReplicaSets to keep; undefined = all. */
export function historyLimit({ spec }: Deployment): number | undefined {
  const { revisionHistoryLimit: limit } = spec;
  return limit === unlimited ? undefined : limit;
}
