/**
 * Counts finished pods exactly once, even if the controller crashes between two steps: (1) write the pod's
 * UID to `status.uncountedTerminatedPods`, (2) remove the tracking finalizer from the pod, (3) move the UID
 * to the counters. A listed UID is not counted twice, and a pod with the finalizer cannot disappear.
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

/** Maximum number of UIDs in the status, which limits them to about 20 KB. */
const maxUncounted = 500;

export interface TrackingOptions {
  readonly client: Client;
  readonly metrics: JobMetrics;
  /** Writes the status and returns the stored Job. */
  readonly updateStatus: (job: Job, status: JobStatus) => Promise<Job>;
  readonly removals: FinalizerRemovals;
}

export interface Tracked {
  readonly job: Job;
  /** Whether this sync has finished the Job. */
  readonly isFinished: boolean;
}

/**
 * Counts finished pods. Adds the terminal condition once all pods are counted and none is terminating.
 * @param needsWrite whether the status has other changes to write
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
  /** The Job as last written. */
  private job: Job;
  /** Status at the last update of the metrics. */
  private reportedStatus: JobStatus;
  /** UIDs of pods with the tracking finalizer. */
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
    this.reportedStatus = state.job.status ?? {};
    this.withFinalizer = new Set(
      state.pods.filter((pod) => this.isTracked(pod)).map(({ metadata }) => metadata.uid),
    );
  }

  async run(needsWrite: boolean): Promise<Tracked> {
    const { state } = this;
    this.isDirty = needsWrite;
    this.countUntracked();
    const counted = this.addUncounted();
    if (isIndexed(state.spec)) this.writeIndexes();
    const end = this.writeInterimCondition();
    if (this.isDirty) {
      await this.write();
      state.backoffs.set(state.key, state.backoff);
    }
    this.options.metrics.failurePolicyActions(this.policyActions);
    const failure = await this.removeFinalizers(counted);
    this.countUntracked();
    if (failure !== undefined) {
      if (this.isDirty) await this.write();
      throw failure;
    }
    const isFinished = end !== undefined && this.finish(end);
    if (this.isDirty) await this.write();
    return { job: this.job, isFinished };
  }

  private isTracked(pod: Pod): boolean {
    const { names, pendingRemovals } = this.state;
    return hasTrackingFinalizer(pod, names) && !pendingRemovals.has(pod.metadata.uid);
  }

  /** Moves UIDs of pods without the finalizer to the counters. */
  private countUntracked(): void {
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

  /** Adds the UIDs of finished pods to the status; returns all pods whose finalizer is to be removed. */
  private addUncounted(): readonly Pod[] {
    const { state } = this;
    const { names, spec } = state;
    const { succeeded = [], failed = [] } = this.status.uncountedTerminatedPods ?? {};
    const uncounted = {
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
      this.addUncountedPod(pod, uncounted);
      const size = uncounted.indexes.size + uncounted.succeeded.length + uncounted.failed.length;
      this.isFull = size >= maxUncounted;
      // The next sync continues with the remaining pods.
      if (this.isFull) break;
    }
    const { succeeded: succeededUids, failed: failedUids } = uncounted;
    this.status.uncountedTerminatedPods = { succeeded: succeededUids, failed: failedUids };
    return counted;
  }

  /** Whether to remove the finalizer: of finished pods, and of all pods of a Job that ends or is deleted. */
  private mayRemoveFinalizer(pod: Pod): boolean {
    const { job, finished, names, spec, delayed } = this.state;
    if (job.metadata.deletionTimestamp !== undefined || finished !== undefined) return true;
    if (pod.status?.phase === "Succeeded") return true;
    if (!isFailed(pod, spec)) return false;
    const index = completionIndexOf(pod, names);
    return index === undefined || delayed.get(index)?.metadata.uid !== pod.metadata.uid;
  }

  private addUncountedPod(
    pod: Pod,
    uncounted: {
      readonly succeeded: string[];
      readonly failed: string[];
      readonly indexes: Set<number>;
    },
  ): void {
    const { finished, names, previousIndexes, spec } = this.state;
    const { uid } = pod.metadata;
    const hasIndexOfJob = !isIndexed(spec) || hasValidIndex(pod, spec, names);
    if (pod.status?.phase === "Succeeded" && !uncounted.failed.includes(uid)) {
      if (isIndexed(spec)) {
        const index = completionIndexOf(pod, names) ?? -1;
        if (!hasIndexOfJob || hasIndex(previousIndexes, index)) return;
        uncounted.indexes.add(index);
      } else if (!uncounted.succeeded.includes(uid)) uncounted.succeeded.push(uid);
      else return;
      this.isDirty = true;
      return;
    }
    // The active pods of a failed Job count as failed.
    const isJobFailed = finished !== undefined && finished.type !== "SuccessCriteriaMet";
    if (!isFailed(pod, spec) && !isJobFailed) return;
    if (uncounted.failed.includes(uid) || !hasIndexOfJob) return;
    const { action, isCounted } = decideFailure(spec.podFailurePolicy, pod);
    if (action !== undefined) {
      this.policyActions.set(action, (this.policyActions.get(action) ?? 0) + 1);
    }
    if (!isCounted) return;
    uncounted.failed.push(uid);
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
   * Sets FailureTarget or SuccessCriteriaMet, which must be stored before finalizers are removed; returns
   * the terminal condition.
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

  /** Removes the tracking finalizers; returns the first error. */
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

  /** Adds the terminal condition if all pods are counted and none is terminating. */
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
    const before = this.reportedStatus;
    this.job = await updateStatus(this.job, this.status);
    this.reportedStatus = { ...this.status };
    metrics.podsFinished(this.state.spec, before, this.status);
    this.isDirty = false;
  }
}
