/** What may be said of the state of a job, and how it may change. */
import { deepEqual } from "#base";
import { Path, type Problems } from "#schema";
import { checkNotNegative } from "../apps/workload.ts";
import { type Job } from "./job-structs.ts";

const path = Path.of("status");
const conditionsPath = path.child("conditions");

export const hasCondition = ({ status }: Job, type: string): boolean =>
  status.conditions?.some((each) => each.type === type && each.status === "True") ?? false;

const isFinished = (job: Job): boolean =>
  hasCondition(job, "Complete") || hasCondition(job, "Failed");

const isIndexed = ({ spec }: Job): boolean => spec.completionMode === "Indexed";

/** Rules that the old status breaks already do not stop updates that leave their fields alone. */
export function checkJobStatus(job: Job, old: Job, problems: Problems): void {
  const { active, succeeded, failed, ready, terminating } = job.status;
  checkNotNegative({ active, succeeded, failed, ready, terminating }, path, problems);
  checkUncounted(job, problems);
  checkConclusion(job, old, problems);
  checkTimes(job, old, problems);
  checkConditionPairs(job, old, problems);
  checkEnd(job, old, problems);
  checkIndexes(job, old, problems);
  checkPods(job, old, problems);
  checkSuccess(job, problems);
  checkTransition(job, old, problems);
}

type Status = Job["status"];

function changed(job: Job, old: Job, ...fields: readonly (keyof Status)[]): boolean {
  return fields.some((field) => !deepEqual(job.status[field], old.status[field]));
}

function changedCondition(job: Job, old: Job, ...types: readonly string[]): boolean {
  return types.some((type) => hasCondition(job, type) !== hasCondition(old, type));
}

/** Problems of the conditions as a whole show no value. */
function checkTogether(problems: Problems, isWrong: boolean, detail: string): void {
  if (isWrong) {
    problems.add({ type: "FieldValueInvalid", field: conditionsPath.toString(), detail });
  }
}

function checkUncounted({ status }: Job, problems: Problems): void {
  const { uncountedTerminatedPods: uncounted } = status;
  const seen = new Set<string>();
  for (const field of ["succeeded", "failed"] as const) {
    for (const [index, uid] of (uncounted?.[field] ?? []).entries()) {
      const place = path.child("uncountedTerminatedPods", field).index(index);
      if (uid === "") problems.invalid(place, uid, "must not be empty");
      else if (seen.has(uid)) problems.duplicate(place, uid);
      seen.add(uid);
    }
  }
}

function checkConclusion(job: Job, old: Job, problems: Problems): void {
  const isComplete = hasCondition(job, "Complete");
  if (changedCondition(job, old, "Complete", "Failed")) {
    const both = isComplete && hasCondition(job, "Failed");
    checkTogether(problems, both, "cannot set Complete=True and Failed=true conditions");
  }
  if (changedCondition(job, old, "Complete", "FailureTarget")) {
    const both = isComplete && hasCondition(job, "FailureTarget");
    checkTogether(problems, both, "cannot set Complete=True and FailureTarget=true conditions");
  }
}

function checkTimes(job: Job, old: Job, problems: Problems): void {
  const { startTime: start, completionTime: completion } = job.status;
  const isComplete = hasCondition(job, "Complete");
  const place = path.child("completionTime");
  const hasEndChanged =
    changedCondition(job, old, "Complete") || changed(job, old, "completionTime");
  if (hasEndChanged && completion && !isComplete) {
    const detail = "cannot set completionTime when there is no Complete=True condition";
    problems.invalid(place, completion, detail);
  }
  if (hasEndChanged && !completion && isComplete) {
    problems.required(place, "completionTime is required for Complete jobs");
  }
  if (!changed(job, old, "startTime", "completionTime") || !start || !completion) return;
  if (Date.parse(completion) < Date.parse(start)) {
    problems.invalid(place, completion, "completionTime cannot be set before startTime");
  }
}

function checkConditionPairs(job: Job, old: Job, problems: Problems): void {
  const needs = (type: string, other: string) => {
    const isAlone = hasCondition(job, type) && !hasCondition(job, other);
    if (!changedCondition(job, old, type, other)) return;
    const detail = `cannot set ${type}=True condition without the ${other}=true condition`;
    checkTogether(problems, isAlone, detail);
  };
  needs("Failed", "FailureTarget");
  needs("Complete", "SuccessCriteriaMet");
}

function checkEnd(job: Job, old: Job, problems: Problems): void {
  if (!isFinished(job)) return;
  const isNew = !isFinished(old);
  const { active = 0, startTime, uncountedTerminatedPods: uncounted } = job.status;
  if (active > 0 && (isNew || changed(job, old, "active"))) {
    problems.invalid(path.child("active"), active, "active>0 is invalid for finished job");
  }
  if (!startTime && (isNew || changed(job, old, "startTime"))) {
    problems.required(path.child("startTime"), "startTime is required for finished job");
  }
  const left = [...(uncounted?.failed ?? []), ...(uncounted?.succeeded ?? [])];
  if (left.length > 0 && (isNew || changed(job, old, "uncountedTerminatedPods"))) {
    const shown = {
      Succeeded: uncounted?.succeeded ?? null,
      Failed: uncounted?.failed ?? null,
    };
    const detail = "uncountedTerminatedPods needs to be empty for finished job";
    problems.invalid(path.child("uncountedTerminatedPods"), shown, detail);
  }
}

type Ranges = readonly (readonly [number, number])[];

/** `0,2-4` as pairs, in order; or what is wrong with it. */
function parseIndexes(text: string, completions: number): Ranges | string {
  if (text === "") return [];
  const ranges: [number, number][] = [];
  let last: number | undefined;
  for (const part of text.split(",")) {
    const limits = part.split("-");
    if (limits.length > 2) {
      const rule = "an index interval can have at most two parts separated by '-'";
      const violates = `the fragment "${part}" violates the requirement that ${rule}`;
      return `cannot parse Job Indexes: ${violates}`;
    }
    const numbers: number[] = [];
    for (const limit of limits) {
      if (!/^[+-]?\d+$/.test(limit)) {
        return `cannot convert string to integer for index: "${limit}"`;
      }
      const value = Number(limit);
      if (value >= completions) return `too large index: "${limit}"`;
      if (last !== undefined && last >= value) {
        return `non-increasing order, previous: ${last}, current: ${value}`;
      }
      last = value;
      numbers.push(value);
    }
    const [first = 0, end = first] = numbers;
    ranges.push([first, end]);
  }
  return ranges;
}

function checkIndexes(job: Job, old: Job, problems: Problems): void {
  const { completedIndexes: completed = "", failedIndexes: failed } = job.status;
  const { completions, backoffLimitPerIndex } = job.spec;
  const completedPath = path.child("completedIndexes");
  const failedPath = path.child("failedIndexes");
  const hasCompletedChanged = changed(job, old, "completedIndexes");
  const hasFailedChanged = changed(job, old, "failedIndexes");
  const parsed = (text: string) => parseIndexes(text, completions ?? 0);
  const check = (text: string, place: Path, field: string) => {
    const fault = parsed(text);
    if (typeof fault !== "string") return;
    problems.invalid(place, text, `error parsing ${field}: ${fault}`);
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
  const common = firstCommon(parsed(completed), parsed(failed));
  if (common === undefined) return;
  const detail = `failedIndexes and completedIndexes overlap at index: ${common}`;
  problems.invalid(failedPath, failed, detail);
}

/** The first index that is in both; texts that are wrong are told of elsewhere. */
function firstCommon(left: Ranges | string, right: Ranges | string): number | undefined {
  if (typeof left === "string" || typeof right === "string") return undefined;
  let at = 0;
  let other = 0;
  while (at < left.length && other < right.length) {
    const [from = 0, to = 0] = left[at] ?? [];
    const [otherFrom = 0, otherTo = 0] = right[other] ?? [];
    const start = Math.max(from, otherFrom);
    if (start <= Math.min(to, otherTo)) return start;
    if (to < otherTo) at++;
    else other++;
  }
  return undefined;
}

function checkPods(job: Job, old: Job, problems: Problems): void {
  const { terminating = 0, ready = 0, active = 0 } = job.status;
  const hasEnded = isFinished(job) !== isFinished(old);
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
    checkTogether(problems, isMet && hasCondition(job, type), detail);
  };
  and("Failed");
  and("FailureTarget");
  const isEarly = job.spec.successPolicy !== undefined && hasCondition(job, "Complete") && !isMet;
  const unless = "Job with SuccessPolicy unless SuccessCriteriaMet=True";
  checkTogether(problems, isEarly, `cannot set Complete=True for ${unless}`);
}

/** What has been said once stays said. */
function checkTransition(job: Job, old: Job, problems: Problems): void {
  const lost = (type: string) => hasCondition(old, type) && !hasCondition(job, type);
  for (const type of ["Failed", "Complete", "FailureTarget"]) {
    checkTogether(problems, lost(type), `cannot disable the terminal ${type}=True condition`);
  }
  checkCounters(job, old, problems);
  const { startTime: start, completionTime: completion } = job.status;
  const { startTime: oldStart, completionTime: oldCompletion } = old.status;
  if (completion && oldCompletion && completion !== oldCompletion) {
    const place = path.child("completionTime");
    problems.invalid(place, completion, "completionTime cannot be mutated");
  }
  if (oldStart && start !== oldStart && !job.spec.suspend) {
    const detail = "startTime cannot be removed for unsuspended job";
    problems.required(path.child("startTime"), detail);
  }
  const detail = "cannot disable the SuccessCriteriaMet=True condition";
  checkTogether(problems, lost("SuccessCriteriaMet"), detail);
  const isLate = hasCondition(old, "Complete") && !hasCondition(old, "SuccessCriteriaMet");
  checkTogether(
    problems,
    isLate && hasCondition(job, "SuccessCriteriaMet"),
    "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions",
  );
}

/** Indexed jobs of which all pods run at once may be scaled down. */
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
