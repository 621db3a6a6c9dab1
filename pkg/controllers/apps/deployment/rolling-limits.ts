import type { Deployment, DeploymentStatus, ReplicaSet } from "#kinds";
import { scaledValue } from "../../scaled-value.ts";

/** Arithmetic of rollouts: minimum and maximum number of pods of a Deployment. */

/** Value of `revisionHistoryLimit` and `progressDeadlineSeconds` that means no limit: MaxInt32. */
const unlimited = 2 ** 31 - 1;

/** Resolves `maxSurge` and `maxUnavailable`; the latter is 1 if both round to 0, so that rollouts proceed. */
function resolveFenceposts({ spec }: Deployment): {
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

/** Number of pods above `spec.replicas` that a rollout may create. */
export function maxSurge(deployment: Deployment): number {
  return isRollingUpdate(deployment) ? resolveFenceposts(deployment).surge : 0;
}

/** Number of pods below `spec.replicas` that may be unavailable during a rollout. */
export function maxUnavailable(deployment: Deployment): number {
  const { replicas } = deployment.spec;
  if (!isRollingUpdate(deployment) || replicas === 0) return 0;
  return Math.min(resolveFenceposts(deployment).unavailable, replicas);
}

/** Sum of `spec.replicas`. */
export function desiredReplicas(sets: readonly ReplicaSet[]): number {
  return sets.reduce((sum, { spec }) => sum + spec.replicas, 0);
}

/** Sum of a status field. */
export function countIn(
  sets: readonly ReplicaSet[],
  field: "replicas" | "readyReplicas" | "availableReplicas",
): number {
  return sets.reduce((sum, { status }) => sum + (status?.[field] ?? 0), 0);
}

/** Replicas that the new ReplicaSet may have now, given the total of all ReplicaSets. */
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

/** Replicas to add to a ReplicaSet in proportional scaling; negative = to remove. */
export function proportion(
  deployment: Deployment,
  { spec }: ReplicaSet,
  { toAdd, added, maxBefore }: { toAdd: number; added: number; maxBefore: number | undefined },
): number {
  if (spec.replicas === 0 || toAdd === 0 || toAdd === added) return 0;
  const change = fractionChange(deployment, spec.replicas, maxBefore);
  const left = toAdd - added;
  return toAdd > 0 ? Math.min(change, left) : Math.max(change, left);
}

function fractionChange(
  deployment: Deployment,
  size: number,
  maxBefore: number | undefined,
): number {
  const { replicas } = deployment.spec;
  if (replicas === 0) return -size;
  const before =
    maxBefore === undefined || maxBefore === 0 ? deployment.status?.replicas : maxBefore;
  if (before === undefined || before === 0) return 0;
  const scaled = (size * (replicas + maxSurge(deployment))) / before;
  return Math.floor(scaled + 0.5) - size;
}

/** Whether all pods are updated and available, and no old ones exist. */
export function isComplete({ metadata, spec }: Deployment, status: DeploymentStatus): boolean {
  return (
    (status.updatedReplicas ?? 0) === spec.replicas &&
    (status.replicas ?? 0) === spec.replicas &&
    (status.availableReplicas ?? 0) === spec.replicas &&
    Number(status.observedGeneration ?? 0) >= Number(metadata.generation ?? 0)
  );
}

/** Whether a rollout has progressed since the last status of the Deployment. */
export function isProgressing({ status: before = {} }: Deployment, now: DeploymentStatus): boolean {
  const old = (status: DeploymentStatus) => (status.replicas ?? 0) - (status.updatedReplicas ?? 0);
  return (
    (now.updatedReplicas ?? 0) > (before.updatedReplicas ?? 0) ||
    old(now) < old(before) ||
    (now.readyReplicas ?? 0) > (before.readyReplicas ?? 0) ||
    (now.availableReplicas ?? 0) > (before.availableReplicas ?? 0)
  );
}

/** `progressDeadlineSeconds`; undefined = no deadline. */
export function progressDeadline({ spec }: Deployment): number | undefined {
  const { progressDeadlineSeconds: seconds } = spec;
  return seconds === unlimited ? undefined : seconds;
}

/** `revisionHistoryLimit`; undefined = no limit. */
export function historyLimit({ spec }: Deployment): number | undefined {
  const { revisionHistoryLimit: limit } = spec;
  return limit === unlimited ? undefined : limit;
}
