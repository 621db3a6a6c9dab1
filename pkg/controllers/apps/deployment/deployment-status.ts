import { deepEqual } from "#base";
import type { Deployment, DeploymentCondition, DeploymentStatus, ReplicaSet } from "#kinds";
import {
  conditionOf,
  hasTimedOut,
  progressing,
  reasons,
  withCondition,
  withoutCondition,
  withProgress,
} from "./deployment-conditions.ts";
import {
  countIn,
  isComplete,
  isProgressing,
  maxUnavailable,
  progressDeadline,
  desiredReplicas,
} from "./rolling-limits.ts";

/** The ReplicaSets of a Deployment. */
export interface OwnedSets {
  /** The ReplicaSet of the current template; undefined = not created yet. */
  readonly newSet: ReplicaSet | undefined;
  readonly oldSets: readonly ReplicaSet[];
}

export function allSets({ newSet, oldSets }: OwnedSets): readonly ReplicaSet[] {
  return newSet === undefined ? oldSets : [...oldSets, newSet];
}

/** Replica counts and the condition Available, from the ReplicaSets. */
export function calculateStatus(
  deployment: Deployment,
  sets: OwnedSets,
  now: number,
): DeploymentStatus {
  const all = allSets(sets);
  const { metadata, spec, status: before = {} } = deployment;
  const available = countIn(all, "availableReplicas");
  const hasMinimum = available >= spec.replicas - maxUnavailable(deployment);
  const { generation } = metadata;
  const { collisionCount } = before;
  return {
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    replicas: countIn(all, "replicas"),
    updatedReplicas: sets.newSet?.status?.replicas ?? 0,
    readyReplicas: countIn(all, "readyReplicas"),
    availableReplicas: available,
    unavailableReplicas: Math.max(0, desiredReplicas(all) - available),
    ...(collisionCount === undefined ? {} : { collisionCount }),
    conditions: withCondition(
      before.conditions,
      hasMinimum
        ? {
            type: "Available",
            status: "True",
            reason: reasons.minimumAvailable,
            message: "Deployment has minimum availability.",
          }
        : {
            type: "Available",
            status: "False",
            reason: reasons.minimumUnavailable,
            message: "Deployment does not have minimum availability.",
          },
      now,
    ),
  };
}

/** Status during a rollout: adds the conditions Progressing and ReplicaFailure. */
export function rolloutStatus(
  deployment: Deployment,
  sets: OwnedSets,
  now: number,
): DeploymentStatus {
  const counted = calculateStatus(deployment, sets, now);
  const conditions = progressConditions(deployment, counted, { sets, now });
  const failure = replicaFailure(sets);
  const without = withoutCondition(conditions, "ReplicaFailure");
  return {
    ...counted,
    conditions: failure === undefined ? without : withFailure(conditions, failure),
  };
}

/** Whether two statuses are equal; absent numbers are 0. */
export function isSameStatus(left: DeploymentStatus = {}, right: DeploymentStatus = {}): boolean {
  return deepEqual(normalizedStatus(left), normalizedStatus(right));
}

function normalizedStatus(status: DeploymentStatus): object {
  return {
    observedGeneration: Number(status.observedGeneration ?? 0),
    replicas: status.replicas ?? 0,
    updatedReplicas: status.updatedReplicas ?? 0,
    readyReplicas: status.readyReplicas ?? 0,
    availableReplicas: status.availableReplicas ?? 0,
    unavailableReplicas: status.unavailableReplicas ?? 0,
    collisionCount: status.collisionCount,
    conditions: status.conditions ?? [],
  };
}

function progressConditions(
  deployment: Deployment,
  status: DeploymentStatus,
  { sets: { newSet }, now }: { readonly sets: OwnedSets; readonly now: number },
): readonly DeploymentCondition[] {
  const { conditions = [] } = status;
  if (progressDeadline(deployment) === undefined) {
    return withoutCondition(conditions, "Progressing");
  }
  const current = conditionOf(deployment.status?.conditions, "Progressing");
  const isDone =
    status.replicas === status.updatedReplicas && current?.reason === reasons.available;
  if (isDone) return conditions;
  const subject =
    newSet === undefined
      ? `Deployment "${deployment.metadata.name}"`
      : `ReplicaSet "${newSet.metadata.name}"`;
  if (isComplete(deployment, status)) {
    const message = `${subject} has successfully progressed.`;
    return withCondition(conditions, progressing(reasons.available, message), now);
  }
  if (isProgressing(deployment, status)) {
    const message = `${subject} is progressing.`;
    return withProgress(conditions, progressing(reasons.updated, message), now);
  }
  if (!hasTimedOut(deployment, conditions, now)) return conditions;
  const message = `${subject} has timed out progressing.`;
  return withCondition(conditions, progressing(reasons.timedOut, message, "False"), now);
}

/** ReplicaFailure of the new ReplicaSet, else of an old one, as a condition of the Deployment. */
function replicaFailure(sets: OwnedSets): DeploymentCondition | undefined {
  const inOrder = [...(sets.newSet === undefined ? [] : [sets.newSet]), ...sets.oldSets];
  const found = inOrder
    .flatMap(({ status }) => status?.conditions ?? [])
    .find(({ type }) => type === "ReplicaFailure");
  if (found === undefined) return undefined;
  const { lastTransitionTime: time } = found;
  return { ...found, ...(time === undefined ? {} : { lastUpdateTime: time }) };
}

function withFailure(
  conditions: readonly DeploymentCondition[],
  failure: DeploymentCondition,
): readonly DeploymentCondition[] {
  const before = conditionOf(conditions, failure.type);
  if (before?.status === failure.status && before.reason === failure.reason) return conditions;
  const since = before?.status === failure.status ? before.lastTransitionTime : undefined;
  const condition = since === undefined ? failure : { ...failure, lastTransitionTime: since };
  return [...withoutCondition(conditions, failure.type), condition];
}
