import type { Deployment, DeploymentCondition } from "#kinds";
import { formatTime } from "../../time.ts";
import { progressDeadline } from "./rolling-limits.ts";

type Conditions = readonly DeploymentCondition[];
type Stated = Pick<DeploymentCondition, "type" | "status"> & {
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

/** The condition Progressing with status True, or another one. */
export function progressing(
  reason: string,
  message: string,
  status: DeploymentCondition["status"] = "True",
): Stated {
  return { type: "Progressing", status, reason, message };
}

/** A condition with the same status and reason stays as it is, whatever its message says. */
export function withCondition(
  conditions: Conditions = [],
  stated: Stated,
  now: number,
): readonly DeploymentCondition[] {
  const before = conditionOf(conditions, stated.type);
  if (before?.status === stated.status && before.reason === stated.reason) return conditions;
  const time = formatTime(now);
  const since = before?.status === stated.status ? before.lastTransitionTime : undefined;
  const condition = { ...stated, lastUpdateTime: time, lastTransitionTime: since ?? time };
  return [...withoutCondition(conditions, stated.type), condition];
}

/** Says again that there is progress, which starts the deadline again. */
export function withProgress(
  conditions: Conditions = [],
  stated: Stated,
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

/** Whether the deadline has passed since the last progress that these conditions state. */
export function hasTimedOut(deployment: Deployment, conditions: Conditions, now: number): boolean {
  const deadline = progressDeadline(deployment);
  const condition = conditionOf(conditions, "Progressing");
  if (deadline === undefined || condition === undefined) return false;
  if (condition.reason === reasons.available) return false;
  if (condition.reason === reasons.timedOut) return true;
  return Date.parse(condition.lastUpdateTime ?? "") + deadline * 1000 < now;
}
