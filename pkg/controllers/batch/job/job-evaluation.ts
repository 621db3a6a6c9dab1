/** Evaluates a Job and its pods: counts, indexes, and the condition with which it ends. */
import type { Job, JobCondition, JobSpec, JobStatus, Pod } from "#kinds";
import { isActive, isReady } from "../../pods/pod-state.ts";
import { formatTime } from "../../time.ts";
import { finishTimeOf } from "./policy/finish-time.ts";
import {
  countIndexes,
  hasIndex,
  type Intervals,
  parseIntervals,
  withIndexes,
} from "./policy/index-intervals.ts";
import type { JobNames } from "./job-names.ts";
import {
  allIndexFailuresOf,
  completionIndexOf,
  countRestarts,
  hasTrackingFinalizer,
  indexesOf,
  indexFailuresOf,
  isFailed,
  isPodTerminating,
} from "./job-pods.ts";
import { findCondition, isIndexed } from "./job-spec.ts";
import type { BackoffRecord, PodBackoffs } from "./policy/pod-backoff.ts";
import { decideFailure } from "./policy/pod-failure-policy.ts";
import { metSuccessRule } from "./policy/success-policy.ts";

export type MutableStatus = { -readonly [K in keyof JobStatus]: JobStatus[K] };

export interface EvaluationInput {
  readonly key: string;
  readonly job: Job;
  /** Pods of the Job. */
  readonly pods: readonly Pod[];
  /** UIDs of pods whose finalizer was removed, but whose removal the informer has not shown yet. */
  readonly pendingRemovals: ReadonlySet<string>;
  readonly backoffs: PodBackoffs;
  readonly names: JobNames;
  /** Time in milliseconds since 1970. */
  readonly now: number;
}

/** State of one sync of a Job. */
export interface JobState extends EvaluationInput {
  readonly spec: JobSpec;
  /** Status to write. */
  status: MutableStatus;
  readonly active: readonly Pod[];
  /** Number of succeeded pods (Indexed: indexes), including uncounted ones. */
  readonly succeeded: number;
  /** Number of failed pods, including uncounted ones. */
  readonly failed: number;
  /** Succeeded indexes in the stored status. */
  readonly previousIndexes: Intervals;
  readonly succeededIndexes: Intervals;
  /** Undefined without a backoff limit per index. */
  readonly failedIndexes: Intervals | undefined;
  /** Failed pods by index whose finalizer stays until the replacement pod has their failure count. */
  readonly delayed: ReadonlyMap<number, Pod>;
  readonly backoff: BackoffRecord;
  terminating: number;
  ready: number;
  /** Condition with which the Job ends; undefined = it continues. */
  finished: JobCondition | undefined;
}

/** A condition with status True since `now`, in milliseconds since 1970. */
export function newCondition(
  type: string,
  reason: string,
  message: string,
  now: number,
): JobCondition {
  const time = formatTime(now);
  const times = { lastProbeTime: time, lastTransitionTime: time };
  return { type, status: "True", ...times, reason, message };
}

export function evaluateJob(input: EvaluationInput): JobState {
  const { job, pods, key, backoffs, now } = input;
  const { spec } = job;
  const status: MutableStatus = { ...job.status };
  status.uncountedTerminatedPods ??= {};
  // Resuming resets the start time: suspension does not count towards the active deadline.
  const isResumed = findCondition(status, "Suspended")?.status === "True";
  if (spec.suspend !== true && (status.startTime === undefined || isResumed)) {
    status.startTime = formatTime(now);
  }
  const uncounted = status.uncountedTerminatedPods;
  const isNew = (pod: Pod, known: readonly string[] = []) =>
    isCountable(pod, input) && !known.includes(pod.metadata.uid);
  const newSucceeded = pods.filter(
    (pod) => pod.status?.phase === "Succeeded" && isNew(pod, uncounted.succeeded),
  );
  const newFailed = pods.filter((pod) => isFailed(pod, spec) && isNew(pod, uncounted.failed));
  const countedFailed = newFailed.filter(
    (pod) => decideFailure(spec.podFailurePolicy, pod).isCounted,
  );
  const active = pods.filter(isActive);
  const indexes = evaluateIndexes(input, active);
  const countNow = (count = 0, more: readonly unknown[], listed: readonly unknown[] = []) =>
    count + more.length + listed.length;
  const state: JobState = {
    ...input,
    spec,
    status,
    active,
    ...indexes,
    succeeded: isIndexed(spec)
      ? countIndexes(indexes.succeededIndexes)
      : countNow(status.succeeded, newSucceeded, uncounted.succeeded),
    failed: countNow(status.failed, countedFailed, uncounted.failed),
    backoff: backoffs.next(key, newSucceeded, newFailed),
    ready: active.filter(isReady).length,
    terminating: pods.filter(isPodTerminating).length,
    finished: undefined,
  };
  state.finished = finishConditionOf(state);
  return state;
}

/** Whether the pod's finish may still be counted: it is tracked and has a valid index. */
function isCountable(pod: Pod, { job, pendingRemovals, names }: EvaluationInput): boolean {
  if (!hasTrackingFinalizer(pod, names) || pendingRemovals.has(pod.metadata.uid)) return false;
  return !isIndexed(job.spec) || hasValidIndex(pod, job.spec, names);
}

export function hasValidIndex(pod: Pod, { completions = 0 }: JobSpec, names: JobNames): boolean {
  const index = completionIndexOf(pod, names);
  return index !== undefined && index < completions;
}

type IndexState = Pick<
  JobState,
  "previousIndexes" | "succeededIndexes" | "failedIndexes" | "delayed"
>;

function evaluateIndexes(input: EvaluationInput, active: readonly Pod[]): IndexState {
  const { job, pods, names } = input;
  const { spec, status = {} } = job;
  const { completions = 0, backoffLimitPerIndex } = spec;
  if (!isIndexed(spec)) {
    const none = { previousIndexes: [], succeededIndexes: [] };
    return { ...none, failedIndexes: undefined, delayed: new Map() };
  }
  // Pods without the finalizer are in the status already.
  const tracked = pods.filter(
    (pod) => hasTrackingFinalizer(pod, names) && hasValidIndex(pod, spec, names),
  );
  const previousIndexes = parseIntervals(status.completedIndexes ?? "", completions);
  const ended = tracked.filter((pod) => pod.status?.phase === "Succeeded");
  const succeededIndexes = withIndexes(previousIndexes, indexesOf(ended, names));
  if (backoffLimitPerIndex === undefined) {
    return { previousIndexes, succeededIndexes, failedIndexes: undefined, delayed: new Map() };
  }
  const failing = tracked.filter((pod) => failsIndex(pod, spec, names));
  const failedIndexes = withIndexes(
    parseIntervals(status.failedIndexes ?? "", completions),
    indexesOf(failing, names),
  );
  const indexes = { previousIndexes, succeededIndexes, failedIndexes };
  return { ...indexes, delayed: delayedPods(input, { ...indexes, active }) };
}

/** Whether the pod's failure fails its index: action FailIndex, or the limit per index is exceeded. */
function failsIndex(pod: Pod, spec: JobSpec, names: JobNames): boolean {
  if (!isFailed(pod, spec)) return false;
  const { action, isCounted } = decideFailure(spec.podFailurePolicy, pod);
  if (action === "FailIndex") return true;
  return isCounted && indexFailuresOf(pod, names) >= (spec.backoffLimitPerIndex ?? 0);
}

function delayedPods(
  input: EvaluationInput,
  state: {
    readonly succeededIndexes: Intervals;
    readonly failedIndexes: Intervals;
    readonly active: readonly Pod[];
  },
): ReadonlyMap<number, Pod> {
  const { job, pods, names } = input;
  const active = indexesOf(state.active, names);
  const delayed = new Map<number, Pod>();
  for (const pod of pods) {
    if (!isCountable(pod, input) || !isFailed(pod, job.spec)) continue;
    const index = completionIndexOf(pod, names)!;
    if (hasIndex(state.succeededIndexes, index) || hasIndex(state.failedIndexes, index)) continue;
    // The active pod of the index has the failure count already.
    if (active.has(index)) continue;
    const before = delayed.get(index);
    if (before === undefined || isLaterFailure(pod, before, names)) delayed.set(index, pod);
  }
  return delayed;
}

function isLaterFailure(pod: Pod, before: Pod, names: JobNames): boolean {
  const failures = allIndexFailuresOf(pod, names);
  const isMore = failures >= allIndexFailuresOf(before, names);
  return isMore && finishTimeOf(pod) >= finishTimeOf(before);
}

/**
 * Condition with which the Job ends; undefined = it continues. Precedence: conditions of an earlier sync,
 * failures, success policy.
 */
function finishConditionOf(state: JobState): JobCondition | undefined {
  const { status, spec, pods, now } = state;
  const criteriaMet = findCondition(status, "SuccessCriteriaMet");
  if (criteriaMet?.status === "True") return criteriaMet;
  const target = findCondition(status, "FailureTarget");
  if (target?.status === "True") {
    return newCondition("Failed", target.reason ?? "", target.message ?? "", now);
  }
  const failure = (reason: string, message: string) =>
    newCondition("FailureTarget", reason, message, now);
  for (const pod of spec.podFailurePolicy === undefined ? [] : pods) {
    if (!isFailed(pod, spec)) continue;
    const { message } = decideFailure(spec.podFailurePolicy, pod);
    if (message !== undefined) return failure("PodFailurePolicy", message);
  }
  if (isPastBackoffLimit(state)) {
    return failure("BackoffLimitExceeded", "Job has reached the specified backoff limit");
  }
  const remainingMs = remainingActiveMs(state);
  if (remainingMs !== undefined && remainingMs <= 0) {
    return failure("DeadlineExceeded", "Job was active longer than specified deadline");
  }
  const failedIndexes = failedIndexesReason(state);
  if (failedIndexes !== undefined) return failure(failedIndexes.reason, failedIndexes.message);
  if (!isIndexed(spec)) return undefined;
  const message = metSuccessRule(spec, state.succeededIndexes);
  if (message === undefined) return undefined;
  return newCondition("SuccessCriteriaMet", "SuccessPolicy", message, now);
}

/** Whether failed pods, or container restarts with restartPolicy OnFailure, exceed the backoff limit. */
function isPastBackoffLimit({ failed, spec, pods }: JobState): boolean {
  const { backoffLimit = 6, template } = spec;
  if (failed > backoffLimit) return true;
  if (template.spec?.restartPolicy !== "OnFailure") return false;
  return countRestarts(pods) >= Math.max(backoffLimit, 1);
}

/** Milliseconds until the active deadline; undefined = no deadline, or the Job is suspended. */
export function remainingActiveMs({ spec, status, now }: JobState): number | undefined {
  const { activeDeadlineSeconds, suspend } = spec;
  if (activeDeadlineSeconds === undefined || suspend === true) return undefined;
  if (status.startTime === undefined) return undefined;
  return Date.parse(status.startTime) + Number(activeDeadlineSeconds) * 1000 - now;
}

function failedIndexesReason({ spec, failedIndexes, succeededIndexes }: JobState) {
  if (failedIndexes === undefined) return undefined;
  const failed = countIndexes(failedIndexes);
  if (failed > (spec.maxFailedIndexes ?? Infinity)) {
    return {
      reason: "MaxFailedIndexesExceeded",
      message: "Job has exceeded the specified maximal number of failed indexes",
    };
  }
  const ended = failed + countIndexes(succeededIndexes);
  if (failed === 0 || ended < (spec.completions ?? 0)) return undefined;
  return { reason: "FailedIndexes", message: "Job has failed indexes" };
}
