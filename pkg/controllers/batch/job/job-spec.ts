/** What the spec and the conditions of a Job mean. */

export function isIndexed({ completionMode }: JobSpec): boolean {
  return completionMode === "Indexed";
}

/** Completion mode as metrics show it. */
export function completionModeOf(spec: JobSpec): string {
  return isIndexed(spec) ? "Indexed" : "NonIndexed";
}

/** Whether terminating pods are replaced only once they have terminated. */
export function replacesOnlyTerminated(spec: JobSpec): boolean {
  return spec.podReplacementPolicy === "Failed" || spec.podFailurePolicy !== undefined;
}

export function findCondition(
  { conditions = [] }: Pick<JobStatus, "conditions">,
  type: string,
): JobCondition | undefined {
  return conditions.find((each) => each.type === type);
}

/** The condition Complete or Failed that is true; undefined = the Job is not finished. */
export function finishedConditionOf({ status = {} }: Job): JobCondition | undefined {
  return status.conditions?.find(
    ({ type, status: value }) => (type === "Complete" || type === "Failed") && value === "True",
  );
}

export function isFinished(job: Job): boolean {
  return finishedConditionOf(job) !== undefined;
}

/** The conditions with the one of that type changed, or added at the end. */
export function withCondition(
  conditions: readonly JobCondition[],
  condition: JobCondition,
): readonly JobCondition[] {
  const isKnown = conditions.some(({ type }) => type === condition.type);
  if (!isKnown) return [...conditions, condition];
  return conditions.map((each) => (each.type === condition.type ? condition : each));
}
import type { Job, JobCondition, JobSpec, JobStatus } from "#kinds";
