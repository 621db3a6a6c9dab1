/** Validation of Job status and its transitions. */
import { deepEqual } from "#base";
import { goQuote } from "#meta";
import { Path, type Problems } from "#schema";
import { checkNotNegative } from "../apps/workload.ts";
import { type Job } from "./job-structs.ts";

const path = Path.of("status");
const conditionsPath = path.child("conditions");

export const hasCondition = ({ status }: Job, type: string, value = "True"): boolean =>
  status.conditions?.some((each) => each.type === type && each.status === value) ?? false;

const isFinished = (job: Job): boolean =>
  hasCondition(job, "Complete") || hasCondition(job, "Failed");

const isIndexed = ({ spec }: Job): boolean => spec.completionMode === "Indexed";

/**
 * Validates an update of a Job's status. Most rules apply only when the update changes one of the
 * fields that they are about, so that a status which already breaks a rule does not block updates of
 * other fields.
 * @param isStrict feature gate JobManagedBy; without it only the rules about SuccessCriteriaMet apply
 */
export function checkJobStatus(job: Job, old: Job, problems: Problems, isStrict: boolean): void {
  const { active, succeeded, failed, ready, terminating } = job.status;
  checkNotNegative({ active, succeeded, failed, ready, terminating }, path, problems);
  checkUncounted(job, problems);
  if (isStrict) {
    checkConclusion(job, old, problems);
    checkTimes(job, old, problems);
    checkConditionPairs(job, old, problems);
    checkEnd(job, old, problems);
    checkIndexes(job, old, problems);
    checkPods(job, old, problems);
  }
  checkSuccess(job, problems);
  if (isStrict) checkTransition(job, old, problems);
  checkSuccessTransition(job, old, problems);
}

type Status = Job["status"];

/** Values that Kubernetes does not distinguish from an absent field. */
const zeroValues: Partial<Record<keyof Status, unknown>> = { active: 0, completedIndexes: "" };

function changed(job: Job, old: Job, ...fields: readonly (keyof Status)[]): boolean {
  const valueOf = ({ status }: Job, field: keyof Status) => status[field] ?? zeroValues[field];
  return fields.some((field) => !deepEqual(valueOf(job, field), valueOf(old, field)));
}

function changedCondition(job: Job, old: Job, ...types: readonly string[]): boolean {
  return types.some((type) => hasCondition(job, type) !== hasCondition(old, type));
}

const hasFinishedChanged = (job: Job, old: Job): boolean => isFinished(job) !== isFinished(old);

/** Reports a contradiction between conditions, without a value. */
function checkConditionPair(problems: Problems, isWrong: boolean, detail: string): void {
  if (isWrong) {
    problems.add({ type: "FieldValueInvalid", field: conditionsPath.toString(), detail });
  }
}

function checkUncounted({ status }: Job, problems: Problems): void {
  const { uncountedTerminatedPods: uncounted } = status;
  const seen = new Set<string>();
  for (const field of ["succeeded", "failed"] as const) {
    for (const [index, uid] of (uncounted?.[field] ?? []).entries()) {
      const itemPath = path.child("uncountedTerminatedPods", field).index(index);
      if (uid === "") problems.invalid(itemPath, uid, "must not be empty");
      else if (seen.has(uid)) problems.duplicate(itemPath, uid);
      seen.add(uid);
    }
  }
}

function checkConclusion(job: Job, old: Job, problems: Problems): void {
  const isComplete = hasCondition(job, "Complete");
  if (changedCondition(job, old, "Complete", "Failed")) {
    const both = isComplete && hasCondition(job, "Failed");
    checkConditionPair(problems, both, "cannot set Complete=True and Failed=true conditions");
  }
  if (changedCondition(job, old, "Complete", "FailureTarget")) {
    const both = isComplete && hasCondition(job, "FailureTarget");
    checkConditionPair(
      problems,
      both,
      "cannot set Complete=True and FailureTarget=true conditions",
    );
  }
}

function checkTimes(job: Job, old: Job, problems: Problems): void {
  const { startTime: start, completionTime: completion } = job.status;
  const isComplete = hasCondition(job, "Complete");
  const completionTimePath = path.child("completionTime");
  const hasEndChanged =
    changedCondition(job, old, "Complete") || changed(job, old, "completionTime");
  if (hasEndChanged && completion && !isComplete) {
    const detail = "cannot set completionTime when there is no Complete=True condition";
    problems.invalid(completionTimePath, completion, detail);
  }
  if (hasEndChanged && !completion && isComplete) {
    problems.required(completionTimePath, "completionTime is required for Complete jobs");
  }
  if (!changed(job, old, "startTime", "completionTime") || !start || !completion) return;
  if (Date.parse(completion) < Date.parse(start)) {
    problems.invalid(completionTimePath, completion, "must be equal to or after `startTime`");
  }
}

function checkConditionPairs(job: Job, old: Job, problems: Problems): void {
  const needs = (type: string, other: string) => {
    const isAlone = hasCondition(job, type) && !hasCondition(job, other);
    const detail = `cannot set ${type}=True condition without the ${other}=true condition`;
    checkConditionPair(problems, isAlone, detail);
  };
  if (changedCondition(job, old, "Failed") || changed(job, old, "failedIndexes")) {
    needs("Failed", "FailureTarget");
  }
  if (changedCondition(job, old, "Complete", "SuccessCriteriaMet")) {
    needs("Complete", "SuccessCriteriaMet");
  }
}

function checkEnd(job: Job, old: Job, problems: Problems): void {
  if (!isFinished(job)) return;
  const isNew = hasFinishedChanged(job, old);
  const { active = 0, startTime, uncountedTerminatedPods: uncounted } = job.status;
  if (active > 0 && (isNew || changed(job, old, "active"))) {
    problems.invalid(path.child("active"), active, "active>0 is invalid for finished job");
  }
  const { suspend, completions } = job.spec;
  const mayNeverStart = suspend === true && completions === 0;
  if (!startTime && !mayNeverStart && (isNew || changed(job, old, "startTime"))) {
    problems.required(path.child("startTime"), "startTime is required for finished job");
  }
  const left = [...(uncounted?.failed ?? []), ...(uncounted?.succeeded ?? [])];
  if (left.length > 0 && (isNew || changed(job, old, "uncountedTerminatedPods"))) {
    const reported = {
      Succeeded: uncounted?.succeeded ?? null,
      Failed: uncounted?.failed ?? null,
    };
    const uncountedTerminatedPodsPath = path.child("uncountedTerminatedPods");
    problems.invalid(uncountedTerminatedPodsPath, reported, "must be empty for finished job");
  }
}

type Interval = readonly [first: number, last: number];

const largestInt = 2 ** 63;

/** Parses `3` or `2-4`; returns the error message for other text. */
function parseInterval(text: string, completions: number): Interval | string {
  const limits = text.split("-");
  if (limits.length > 2) {
    const rule = "an index interval can have at most two parts separated by '-'";
    return `the fragment ${goQuote(text)} violates the requirement that ${rule}`;
  }
  const numbers: number[] = [];
  for (const limit of limits) {
    const value = Number(limit);
    if (!/^[+]?\d+$/.test(limit) || value >= largestInt) {
      return `cannot convert string to integer for index: ${goQuote(limit)}`;
    }
    if (value >= completions) return `too large index: ${goQuote(limit)}`;
    numbers.push(value);
  }
  const [first = 0, last] = numbers;
  if (last === undefined) return [first, first];
  return first < last ? [first, last] : nonIncreasing(first, last);
}

function nonIncreasing(previous: number, current: number): string {
  return `non-increasing order, previous: ${previous}, current: ${current}`;
}

function parseIntervals(text: string, completions: number): readonly (Interval | string)[] {
  return text === "" ? [] : text.split(",").map((part) => parseInterval(part, completions));
}

/** Error message for text such as `0,2-4`; undefined if it is valid. */
function indexesFault(text: string, completions: number): string | undefined {
  let previous: number | undefined;
  for (const interval of parseIntervals(text, completions)) {
    if (typeof interval === "string") return interval;
    const [first, last] = interval;
    if (previous !== undefined && previous >= first) return nonIncreasing(previous, first);
    previous = last;
  }
  return undefined;
}

function checkIndexes(job: Job, old: Job, problems: Problems): void {
  const { completedIndexes: completed = "", failedIndexes: failed } = job.status;
  const { completions, backoffLimitPerIndex } = job.spec;
  const completedPath = path.child("completedIndexes");
  const failedPath = path.child("failedIndexes");
  const hasCompletedChanged = changed(job, old, "completedIndexes");
  const hasFailedChanged = changed(job, old, "failedIndexes");
  const check = (text: string, fieldPath: Path, field: string) => {
    const fault = indexesFault(text, completions ?? 0);
    if (fault === undefined) return;
    problems.invalid(fieldPath, text, `error parsing ${field}: ${fault}`);
  };
  if (completions !== undefined && hasCompletedChanged) {
    check(completed, completedPath, "completedIndexes");
  }
  const isCounted = completions !== undefined && backoffLimitPerIndex !== undefined;
  if (isCounted && failed !== undefined && hasFailedChanged) {
    check(failed, failedPath, "failedIndexes");
  }
  if (hasCompletedChanged && completed !== "" && !isIndexed(job)) {
    const detail = "cannot set non-empty completedIndexes when non-indexed completion mode";
    problems.invalid(completedPath, completed, detail);
  }
  if (hasFailedChanged && failed !== undefined && backoffLimitPerIndex === undefined) {
    const detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
    problems.invalid(failedPath, failed, detail);
  }
  if (completions === undefined || failed === undefined) return;
  if (!hasFailedChanged && !hasCompletedChanged) return;
  const common = firstCommon(
    parseIntervals(completed, completions),
    parseIntervals(failed, completions),
  );
  if (common === undefined) return;
  const detail = `failedIndexes and completedIndexes overlap at index: ${common}`;
  problems.invalid(failedPath, failed, detail);
}

/** The first index in both lists; intervals that do not parse are skipped. */
function firstCommon(
  left: readonly (Interval | string)[],
  right: readonly (Interval | string)[],
): number | undefined {
  const isInterval = (each: Interval | string): each is Interval => typeof each !== "string";
  const completed = left.filter(isInterval);
  const failed = right.filter(isInterval);
  for (let at = 0, other = 0; at < completed.length && other < failed.length;) {
    const [first, last] = completed[at]!;
    const [otherFirst, otherLast] = failed[other]!;
    if (first <= otherLast && otherFirst <= last) return Math.max(first, otherFirst);
    if (first <= otherFirst) at++;
    else other++;
  }
  return undefined;
}

function checkPods(job: Job, old: Job, problems: Problems): void {
  const { terminating = 0, ready = 0, active = 0 } = job.status;
  const hasEnded = hasFinishedChanged(job, old);
  if (terminating > 0 && isFinished(job) && (hasEnded || changed(job, old, "terminating"))) {
    const detail = "terminating>0 is invalid for finished job";
    problems.invalid(path.child("terminating"), terminating, detail);
  }
  if (ready > active && changed(job, old, "ready", "active")) {
    problems.invalid(path.child("ready"), ready, "cannot set more ready pods than active");
  }
}

function checkSuccess(job: Job, problems: Problems): void {
  const isMet = hasCondition(job, "SuccessCriteriaMet");
  const and = (type: string) => {
    const detail = `cannot set SuccessCriteriaMet=True and ${type}=true conditions`;
    checkConditionPair(problems, isMet && hasCondition(job, type), detail);
  };
  and("Failed");
  and("FailureTarget");
  const isEarly = job.spec.successPolicy !== undefined && hasCondition(job, "Complete") && !isMet;
  const unless = "Job with SuccessPolicy unless SuccessCriteriaMet=True";
  checkConditionPair(problems, isEarly, `cannot set Complete=True for ${unless}`);
}

/** Rejects changes of terminal conditions, and counters or times that go back. */
function checkTransition(job: Job, old: Job, problems: Problems): void {
  for (const type of ["Failed", "Complete", "FailureTarget"]) {
    const isLost = hasCondition(old, type) && !hasCondition(job, type);
    checkConditionPair(problems, isLost, `cannot disable the terminal ${type}=True condition`);
  }
  checkCounters(job, old, problems);
  const { startTime: start, completionTime: completion } = job.status;
  const { startTime: oldStart, completionTime: oldCompletion } = old.status;
  if (completion && oldCompletion && completion !== oldCompletion) {
    problems.invalid(path.child("completionTime"), completion, "field is immutable");
  }
  // The status of a resumed Job is updated after its spec: startTime is set again or removed then.
  const isResuming = hasCondition(old, "Suspended") && hasCondition(job, "Suspended", "False");
  if (oldStart && start !== oldStart && job.spec.suspend !== true && !isResuming) {
    const detail = "startTime cannot be removed for unsuspended job";
    problems.required(path.child("startTime"), detail);
  }
}

function checkSuccessTransition(job: Job, old: Job, problems: Problems): void {
  const hadCondition = hasCondition(old, "SuccessCriteriaMet");
  const is = hasCondition(job, "SuccessCriteriaMet");
  const lost = "cannot disable the SuccessCriteriaMet=True condition";
  checkConditionPair(problems, hadCondition && !is, lost);
  const late = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions";
  checkConditionPair(problems, hasCondition(old, "Complete") && !hadCondition && is, late);
}

/**
 * Rejects counters that decrease. Succeeded may decrease in elastic Indexed Jobs, which may be
 * scaled down.
 */
function checkCounters(job: Job, old: Job, problems: Problems): void {
  const { completions, parallelism } = job.spec;
  const mayShrink = isIndexed(job) && completions === parallelism;
  for (const field of ["failed", "succeeded"] as const) {
    const { [field]: now = 0 } = job.status;
    const { [field]: before = 0 } = old.status;
    if (now >= before || (field === "succeeded" && mayShrink)) continue;
    problems.invalid(path.child(field), now, `cannot decrease the ${field} counter`);
  }
}
