/** Predicates on the spec and conditions of Jobs. */
import type { JobNames } from "./job-names.ts";

export function isIndexed({ completionMode }: JobSpec): boolean {
  return completionMode === "Indexed";
}

/** Completion mode as in metric labels. */
export function completionModeOf(spec: JobSpec): string {
  return isIndexed(spec) ? "Indexed" : "NonIndexed";
}

/** Whether pods are replaced only once they are terminal (podReplacementPolicy Failed). */
export function replacesOnlyTerminated(spec: JobSpec): boolean {
  return spec.podReplacementPolicy === "Failed" || spec.podFailurePolicy !== undefined;
}

export function findCondition(
  { conditions = [] }: Pick<JobStatus, "conditions">,
  type: string,
): JobCondition | undefined {
  return conditions.find((each) => each.type === type);
}

/** The true condition Complete or Failed; undefined = not finished. */
export function finishedConditionOf({ status = {} }: Job): JobCondition | undefined {
  return status.conditions?.find(
    ({ type, status: value }) => (type === "Complete" || type === "Failed") && value === "True",
  );
}

export function isFinished(job: Job): boolean {
  return finishedConditionOf(job) !== undefined;
}

/** Replaces the condition of the same type, or appends it. */
export function withCondition(
  conditions: readonly JobCondition[],
  condition: JobCondition,
): readonly JobCondition[] {
  const isKnown = conditions.some(({ type }) => type === condition.type);
  if (!isKnown) return [...conditions, condition];
  return conditions.map((each) => (each.type === condition.type ? condition : each));
}
import type { Job, JobCondition, JobSpec, JobStatus } from "#kinds";

/** Whether `spec.managedBy` delegates the Job to another controller. */
export function isManagedByOther(
  { spec: { managedBy } }: Job,
  { controllerName }: JobNames,
): boolean {
  return managedBy !== undefined && managedBy !== controllerName;
}
