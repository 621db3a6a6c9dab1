/**
 * Counting of finished pods. A finish is counted in three steps, each of which may be the last one
 * before a crash: the pod's UID is written to the status, the finalizer is removed from the pod, and
 * the UID in the status becomes part of the counters. What is in the status cannot be counted twice,
 * and a pod with the finalizer cannot be lost.
 */
import type { Client } from "#client";
import { type Job, type JobStatus, type Pod, pods as podResource } from "#kinds";
import { ignoreNotFound } from "#meta";
import { formatIntervals, countIndexes, hasIndex } from "./policy/index-intervals.ts";
import {
  hasValidIndex,
  type JobState,
  type MutableStatus,
  newCondition,
} from "./job-evaluation.ts";
import type { FinalizerRemovals } from "./finalizer-removals.ts";
import type { JobMetrics } from "./job-metrics.ts";
import { completionIndexOf, finalizerRemoval, hasTrackingFinalizer, isFailed } from "./job-pods.ts";
import { findCondition, isIndexed, withCondition } from "./job-spec.ts";
import { decideFailure } from "./policy/pod-failure-policy.ts";

/** UIDs in the status at most, which keeps it below about 20 KB. */
const mostUncounted = 500;

export interface TrackingOptions {
  readonly client: Client;
  readonly metrics: JobMetrics;
  /** Writes the status; answers the stored Job. */
  readonly updateStatus: (job: Job, status: JobStatus) => Promise<Job>;
  readonly removals: FinalizerRemovals;
}

export interface Tracked {
  readonly job: Job;
  /** Whether this sync has finished the Job. */
  readonly isFinished: boolean;
}

/**
 * Counts finished pods and finishes the Job if it has ended, its pods are counted and none is
 * terminating.
 * @param needsWrite whether the status has changed otherwise
 */
export async function trackFinishes(
  state: JobState,
  needsWrite: boolean,
  options: TrackingOptions,
): Promise<Tracked> {
  return new FinishTracking(state, options).run(needsWrite);
}

class FinishTracking {
  private readonly status: MutableStatus;
  /** The Job as it was last written. */
  private job: Job;
  /** Status up to which finishes are in the metrics. */
  private measured: JobStatus;
  /** UIDs of pods that have the finalizer. */
  private readonly withFinalizer: Set<string>;
  private readonly policyActions = new Map<string, number>();
  private isDirty = false;
  private isFull = false;

  constructor(
    private readonly state: JobState,
    private readonly options: TrackingOptions,
  ) {
    this.job = state.job;
    this.status = state.status;
    this.measured = state.job.status ?? {};
    this.withFinalizer = new Set(
      state.pods.filter((pod) => this.isTracked(pod)).map(({ metadata }) => metadata.uid),
    );
  }

  async run(needsWrite: boolean): Promise<Tracked> {
    const { state } = this;
    this.isDirty = needsWrite;
    this.countWithoutFinalizer();
    const counted = this.noteFinishes();
    if (isIndexed(state.spec)) this.writeIndexes();
    const end = this.writeInterimCondition();
    if (this.isDirty) {
      await this.write();
      state.backoffs.set(state.key, state.backoff);
    }
    this.options.metrics.failurePolicyActions(this.policyActions);
    const failure = await this.removeFinalizers(counted);
    this.countWithoutFinalizer();
    if (failure !== undefined) {
      if (this.isDirty) await this.write();
      throw failure;
    }
    const isFinished = end !== undefined && this.finish(end);
    if (this.isDirty) await this.write();
    return { job: this.job, isFinished };
  }

  private isTracked(pod: Pod): boolean {
    const { names, awaited } = this.state;
    return hasTrackingFinalizer(pod, names) && !awaited.has(pod.metadata.uid);
  }

  /** Moves UIDs of pods without the finalizer to the counters. */
  private countWithoutFinalizer(): void {
    const { status } = this;
    const { succeeded = [], failed = [] } = status.uncountedTerminatedPods ?? {};
    const isLeft = (uid: string) => this.withFinalizer.has(uid);
    const left = { succeeded: succeeded.filter(isLeft), failed: failed.filter(isLeft) };
    const newSucceeded = succeeded.length - left.succeeded.length;
    const newFailed = failed.length - left.failed.length;
    if (newSucceeded + newFailed === 0) return;
    status.uncountedTerminatedPods = left;
    status.succeeded = (status.succeeded ?? 0) + newSucceeded;
    status.failed = (status.failed ?? 0) + newFailed;
    this.isDirty = true;
  }

  /** Adds finished pods to the status; answers all whose finalizer is to be removed. */
  private noteFinishes(): readonly Pod[] {
    const { state } = this;
    const { names, spec } = state;
    const { succeeded = [], failed = [] } = this.status.uncountedTerminatedPods ?? {};
    const notes = {
      succeeded: [...succeeded],
      failed: [...failed],
      indexes: new Set<number>(),
    };
    const indexOf = (pod: Pod) => completionIndexOf(pod, names) ?? -1;
    const pods = isIndexed(spec)
      ? [...state.pods].sort((a, b) => indexOf(a) - indexOf(b))
      : state.pods;
    const counted: Pod[] = [];
    for (const pod of pods) {
      if (!this.isTracked(pod) || !this.mayRemoveFinalizer(pod)) continue;
      counted.push(pod);
      this.note(pod, notes);
      const size = notes.indexes.size + notes.succeeded.length + notes.failed.length;
      this.isFull = size >= mostUncounted;
      // The next sync goes on with the others.
      if (this.isFull) break;
    }
    const { succeeded: succeededUids, failed: failedUids } = notes;
    this.status.uncountedTerminatedPods = { succeeded: succeededUids, failed: failedUids };
    return counted;
  }

  /** Finished pods lose it, and all pods of a Job that ends or is being deleted. */
  private mayRemoveFinalizer(pod: Pod): boolean {
    const { job, finished, names, spec, delayed } = this.state;
    if (job.metadata.deletionTimestamp !== undefined || finished !== undefined) return true;
    if (pod.status?.phase === "Succeeded") return true;
    if (!isFailed(pod, spec)) return false;
    const index = completionIndexOf(pod, names);
    return index === undefined || delayed.get(index)?.metadata.uid !== pod.metadata.uid;
  }

  private note(
    pod: Pod,
    notes: {
      readonly succeeded: string[];
      readonly failed: string[];
      readonly indexes: Set<number>;
    },
  ): void {
    const { finished, names, previousIndexes, spec } = this.state;
    const { uid } = pod.metadata;
    const hasIndexOfJob = !isIndexed(spec) || hasValidIndex(pod, spec, names);
    if (pod.status?.phase === "Succeeded" && !notes.failed.includes(uid)) {
      if (isIndexed(spec)) {
        const index = completionIndexOf(pod, names) ?? -1;
        if (!hasIndexOfJob || hasIndex(previousIndexes, index)) return;
        notes.indexes.add(index);
      } else if (!notes.succeeded.includes(uid)) notes.succeeded.push(uid);
      else return;
      this.isDirty = true;
      return;
    }
    // Once a Job has failed, its active pods have failed, too.
    const isJobFailed = finished !== undefined && finished.type !== "SuccessCriteriaMet";
    if (!isFailed(pod, spec) && !isJobFailed) return;
    if (notes.failed.includes(uid) || !hasIndexOfJob) return;
    const { action, isCounted } = decideFailure(spec.podFailurePolicy, pod);
    if (action !== undefined) {
      this.policyActions.set(action, (this.policyActions.get(action) ?? 0) + 1);
    }
    if (!isCounted) return;
    notes.failed.push(uid);
    this.isDirty = true;
  }

  private writeIndexes(): void {
    const { succeededIndexes, failedIndexes } = this.state;
    const { status } = this;
    const completed = formatIntervals(succeededIndexes);
    const failed = failedIndexes === undefined ? undefined : formatIntervals(failedIndexes);
    if (completed !== (status.completedIndexes ?? "")) this.isDirty = true;
    if (failed !== status.failedIndexes) this.isDirty = true;
    status.succeeded = countIndexes(succeededIndexes);
    status.completedIndexes = completed;
    if (failed === undefined) delete status.failedIndexes;
    else status.failedIndexes = failed;
  }

  /**
   * Writes FailureTarget or SuccessCriteriaMet, which says why the Job ends before pods lose their
   * finalizers; answers the terminal condition.
   */
  private writeInterimCondition(): ReturnType<typeof newCondition> | undefined {
    const { finished, now } = this.state;
    const { status } = this;
    if (finished === undefined || finished.type === "Failed") return finished;
    const { type, reason = "", message = "" } = finished;
    if (findCondition(status, type)?.status !== "True") {
      status.conditions = withCondition(status.conditions ?? [], finished);
      this.isDirty = true;
    }
    return newCondition(type === "FailureTarget" ? "Failed" : "Complete", reason, message, now);
  }

  /** Answers the first failure. */
  private async removeFinalizers(pods: readonly Pod[]): Promise<unknown> {
    const { client, removals } = this.options;
    removals.expect(pods);
    const failures: unknown[] = [];
    const remove = async (pod: Pod): Promise<void> => {
      const { namespace = "", name, uid } = pod.metadata;
      const patch = finalizerRemoval(pod, this.state.names);
      try {
        await client.patch(podResource, { namespace, name }, patch).catch(ignoreNotFound);
        this.withFinalizer.delete(uid);
        removals.succeeded(pod);
      } catch (error) {
        removals.failed(pod);
        failures.push(error);
      }
    };
    await Promise.all(pods.map(remove));
    return failures[0];
  }

  /** Adds the terminal condition if nothing is left to be counted or to end. */
  private finish(end: ReturnType<typeof newCondition>): boolean {
    const { status } = this;
    const { succeeded = [], failed = [] } = status.uncountedTerminatedPods ?? {};
    const isOpen = this.isFull || succeeded.length + failed.length > 0;
    if (isOpen || this.state.terminating > 0) return false;
    status.conditions = withCondition(status.conditions ?? [], end);
    if (end.type === "Complete") status.completionTime = end.lastTransitionTime!;
    this.isDirty = true;
    return true;
  }

  private async write(): Promise<void> {
    const { metrics, updateStatus } = this.options;
    const before = this.measured;
    this.job = await updateStatus(this.job, this.status);
    this.measured = { ...this.status };
    metrics.podsFinished(this.state.spec, before, this.status);
    this.isDirty = false;
  }
}
