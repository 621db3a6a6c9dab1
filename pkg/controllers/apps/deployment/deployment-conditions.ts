import type { Deployment, DeploymentCondition } from "#kinds";
import { formatTime } from "../../time.ts";
import { progressDeadline } from "./rolling-limits.ts";

type Conditions = readonly DeploymentCondition[];
type ConditionDraft = Pick<DeploymentCondition, "type" | "status"> & {
  readonly reason: string;
  readonly message: string;
};

export const reasons = {
  updated: "ReplicaSetUpdated",
  createFailed: "ReplicaSetCreateError",
  created: "NewReplicaSetCreated",
  found: "FoundNewReplicaSet",
  available: "NewReplicaSetAvailable",
  timedOut: "ProgressDeadlineExceeded",
  paused: "DeploymentPaused",
  resumed: "DeploymentResumed",
  minimumAvailable: "MinimumReplicasAvailable",
  minimumUnavailable: "MinimumReplicasUnavailable",
} as const;

export function conditionOf(
  conditions: Conditions | undefined,
  type: string,
): DeploymentCondition | undefined {
  return conditions?.find((each) => each.type === type);
}

/** A condition Progressing. */
export function progressing(
  reason: string,
  message: string,
  status: DeploymentCondition["status"] = "True",
): ConditionDraft {
  return { type: "Progressing", status, reason, message };
}

/** Sets a condition, unless one with the same status and reason exists; a new message alone is ignored. */
export function withCondition(
  conditions: Conditions = [],
  stated: ConditionDraft,
  now: number,
): readonly DeploymentCondition[] {
  const before = conditionOf(conditions, stated.type);
  if (before?.status === stated.status && before.reason === stated.reason) return conditions;
  const time = formatTime(now);
  const since = before?.status === stated.status ? before.lastTransitionTime : undefined;
  const condition = { ...stated, lastUpdateTime: time, lastTransitionTime: since ?? time };
  return [...withoutCondition(conditions, stated.type), condition];
}

/** Sets the condition Progressing with a new lastUpdateTime, which restarts the progress deadline. */
export function withProgress(
  conditions: Conditions = [],
  stated: ConditionDraft,
  now: number,
): readonly DeploymentCondition[] {
  const time = formatTime(now);
  const before = conditionOf(conditions, stated.type);
  const since = before?.status === "True" ? before.lastTransitionTime : undefined;
  const condition = { ...stated, lastUpdateTime: time, lastTransitionTime: since ?? time };
  return [...withoutCondition(conditions, stated.type), condition];
}

export function withoutCondition(conditions: Conditions = [], type: string): Conditions {
  return conditions.filter((each) => each.type !== type);
}

/** Whether the progress deadline has passed since the last update of the condition Progressing. */
export function hasTimedOut(deployment: Deployment, conditions: Conditions, now: number): boolean {
  const deadline = progressDeadline(deployment);
  const condition = conditionOf(conditions, "Progressing");
  if (deadline === undefined || condition === undefined) return false;
  if (condition.reason === reasons.available) return false;
  if (condition.reason === reasons.timedOut) return true;
  return Date.parse(condition.lastUpdateTime ?? "") + deadline * 1000 < now;
}
