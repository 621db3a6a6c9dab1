import { realClock } from "#base";
import {
  type Informer,
  type InformerEvent,
  objectKey,
  type WorkQueue,
  CoreEventRecorder,
} from "#client";
import {
  type Job,
  jobs as jobResource,
  type JobStatus,
  type Pod,
  pods as podResource,
} from "#kinds";
import { type ControllerContext, newWorkQueue } from "../../controller-context.ts";
import { claimObjects } from "../../owners/claim.ts";
import { isControlledBy } from "../../owners/controller-ref.ts";
import { OwnedObjects } from "../../owners/owned-objects.ts";
import { selectorOf } from "../../owners/selectors.ts";
import { Expectations } from "../../owners/expectations.ts";
import { watchOwned } from "../../owners/owned-object-events.ts";
import { PodControl } from "../../pods/pod-control.ts";
import { FinalizerRemovals } from "./finalizer-removals.ts";
import { type Tracked, trackFinishes } from "./finish-tracking.ts";
import { evaluateJob, type JobState, newCondition, remainingActiveMs } from "./job-evaluation.ts";
import { JobMetrics } from "./job-metrics.ts";
import { jobNames, type JobNames } from "./job-names.ts";
import {
  finishedConditionOf,
  findCondition,
  isFinished,
  isManagedByOther,
  withCondition,
} from "./job-spec.ts";
import { deleteActivePods, managePods, type SyncAction } from "./manage-pods.ts";
import { OrphanPods } from "./orphan-pods.ts";
import { PodBackoffs } from "./policy/pod-backoff.ts";
import { WrittenObjects } from "../../written-objects.ts";

export interface JobControllerOptions {
  /** Number of Jobs synced concurrently. */
  readonly jobWorkers: number;
}

/** Batches pod changes: delay of a sync after one. */
const batchMs = 1_000;
const retryDelays = { firstMs: 1_000, maxMs: 60_000 };

/** Runs the pods of Jobs to completion. */
export async function runJobController(
  context: ControllerContext,
  { jobWorkers }: JobControllerOptions,
): Promise<void> {
  await new JobController(context).run(jobWorkers);
}

class JobController {
  private readonly names: JobNames;
  private readonly queue: WorkQueue;
  private readonly recorder: CoreEventRecorder;
  private readonly podControl: PodControl;
  private readonly expectations: Expectations;
  private readonly jobs: Informer<Job>;
  private readonly pods: Informer<Pod>;
  private readonly owned: OwnedObjects<Pod>;
  private readonly removals: FinalizerRemovals;
  private readonly orphans: OrphanPods;
  private readonly written: WrittenObjects<Job>;
  private readonly backoffs = new PodBackoffs();
  private readonly metrics: JobMetrics;

  constructor(private readonly context: ControllerContext) {
    const { client, clock, informers, instruments } = context;
    this.names = jobNames(client.domain);
    this.queue = newWorkQueue({ ...context, delays: retryDelays }, "job");
    this.recorder = new CoreEventRecorder(context, "job-controller");
    this.podControl = new PodControl(client, this.recorder, jobResource);
    this.expectations = new Expectations(clock);
    this.jobs = informers.of(jobResource);
    this.pods = informers.of(podResource);
    this.owned = new OwnedObjects(this.pods);
    this.removals = new FinalizerRemovals(this.pods, this.names);
    this.written = new WrittenObjects(this.jobs);
    this.metrics = new JobMetrics(instruments);
    this.orphans = new OrphanPods(context, { jobs: this.jobs, pods: this.pods, names: this.names });
  }

  async run(workers: number): Promise<void> {
    const { expectations, jobs, pods } = this;
    jobs.subscribe((change) => this.jobChanged(change));
    pods.subscribe((change) => this.podChanged(change));
    watchOwned({
      objects: pods,
      owners: jobs,
      kind: jobResource.kind,
      matches: ({ spec }, labels) => selectorOf(spec.selector).matches(labels),
      expectations,
      changed: (job) => this.queue.addAfter(objectKey(job), batchMs),
    });
    await Promise.all([jobs.untilSynced(), pods.untilSynced()]);
    const work = (key: string) => this.sync(key);
    await Promise.all([
      this.queue.run(work, { workers }),
      this.orphans.run(workers),
      this.recorder.run(),
    ]);
  }

  private jobChanged(change: InformerEvent<Job>): void {
    const { type, object: job } = change;
    const key = objectKey(job);
    const { managedBy } = job.spec;
    if (type === "added" && managedBy !== undefined && isManagedByOther(job, this.names)) {
      this.metrics.managedByOther(managedBy);
    }
    if (type === "deleted") {
      this.expectations.forget(key);
      this.backoffs.remove(key);
    }
    if (type === "deleted" || isFinished(job)) {
      for (const pod of this.owned.of(job)) this.orphans.add(pod);
    }
    const isSpecOld =
      type === "updated" && job.metadata.generation === change.before.metadata.generation;
    if (isSpecOld) this.queue.addAfter(key, batchMs);
    else this.queue.add(key);
  }

  private podChanged(change: InformerEvent<Pod>): void {
    const { type, object } = change;
    const before = type === "updated" ? change.before : type === "deleted" ? object : undefined;
    this.metrics.podChanged(before, type === "deleted" ? undefined : object, this.names);
    if (type !== "deleted") this.orphans.add(object);
  }

  private async sync(key: string): Promise<void> {
    const job = this.written.latest(key);
    if (job === undefined || isManagedByOther(job, this.names)) return;
    if (isFinished(job)) {
      this.backoffs.remove(key);
      return;
    }
    const clock = realClock(this.context.clock);
    const began = clock.monotonic();
    let action: SyncAction = "reconciling";
    let isSuccess = false;
    try {
      await this.reconcile(key, job, (done) => (action = done));
      isSuccess = true;
    } finally {
      const seconds = (clock.monotonic() - began) / 1000;
      this.metrics.synced(job.spec, action, isSuccess, seconds);
    }
  }

  private async reconcile(
    key: string,
    job: Job,
    setAction: (action: SyncAction) => void,
  ): Promise<void> {
    const { backoffs, names } = this;
    // Before pods are read: a pod that appears in between must not satisfy expectations without being listed.
    const isSatisfied = this.expectations.areSatisfied(key);
    const pods = await this.claimPods(job);
    // A snapshot that is consistent with `pods`.
    const pendingRemovals = this.removals.expectedOf(pods);
    const now = this.context.clock.now();
    const state = evaluateJob({ key, job, pods, pendingRemovals, backoffs, names, now });
    const { active, failure, action, hasChanged } =
      state.finished === undefined
        ? await this.manage(state, isSatisfied)
        : await this.end(state, isSatisfied);
    setAction(action);
    const { status, ready, terminating } = state;
    const needsWrite =
      hasChanged ||
      active !== (status.active ?? 0) ||
      ready !== status.ready ||
      terminating !== status.terminating ||
      status.startTime !== job.status?.startTime;
    Object.assign(status, { active, ready, terminating });
    this.recordFinish(await this.track(state, needsWrite));
    if (failure !== undefined) throw failure;
  }

  /** Pods of the Job. Adopted ones get the tracking finalizer, which the cached objects lack. */
  private async claimPods(job: Job): Promise<readonly Pod[]> {
    const selector = selectorOf(job.spec.selector);
    const { trackingFinalizer } = this.names;
    // A cached orphan may have been adopted and counted already.
    const orphans = this.owned.orphansFor(job).filter((pod) => !this.removals.isExpected(pod));
    const claimed = await claimObjects([...this.owned.of(job), ...orphans], {
      client: this.context.client,
      resource: podResource,
      owner: job,
      ownerResource: jobResource,
      matches: ({ metadata }) => selector.matches(metadata.labels ?? {}),
      finalizers: [trackingFinalizer],
    });
    return claimed.map((pod) => {
      const { finalizers = [] } = pod.metadata;
      if (isControlledBy(pod, job) || finalizers.includes(trackingFinalizer)) return pod;
      const tracked = [...finalizers, trackingFinalizer];
      return { ...pod, metadata: { ...pod.metadata, finalizers: tracked } };
    });
  }

  /** Deletes the active pods of a Job that ends; unsets `state.finished` while any may remain. */
  private async end(state: JobState, isSatisfied: boolean): Promise<Outcome> {
    const { deleted, failure } = await deleteActivePods(state, this.podControl);
    const active = state.active.length - deleted;
    // Some deletions failed, or the cache may lack pods.
    if (active > 0 || !isSatisfied) state.finished = undefined;
    return { active, failure, action: "reconciling", hasChanged: false };
  }

  private async manage(state: JobState, isSatisfied: boolean): Promise<Outcome> {
    const { job, key, spec, now } = state;
    const { metadata } = job;
    const mayManage = isSatisfied && metadata.deletionTimestamp === undefined;
    const remainingMs = remainingActiveMs(state);
    if (remainingMs !== undefined) this.queue.addAfter(key, remainingMs);
    const { active, action, failure } = mayManage
      ? await managePods(state, {
          client: this.context.client,
          podControl: this.podControl,
          expectations: this.expectations,
          metrics: this.metrics,
          resync: (delayMs) => this.queue.addAfter(key, Math.max(delayMs, batchMs)),
        })
      : { active: state.active.length, action: "reconciling" as const, failure: undefined };
    const isComplete =
      spec.completions === undefined ? state.succeeded > 0 : state.succeeded >= spec.completions;
    let hasChanged = false;
    if (isComplete && active === 0) {
      const message = "Reached expected number of succeeded pods";
      state.finished = newCondition("SuccessCriteriaMet", "CompletionsReached", message, now);
    } else if (mayManage) {
      hasChanged = this.setSuspended(state);
    }
    return { active, action, failure, hasChanged };
  }

  /** Sets the condition Suspended; returns whether it changed. */
  private setSuspended({ job, spec, status, now }: JobState): boolean {
    const present = findCondition(status, "Suspended");
    const isSuspended = spec.suspend === true;
    const value = isSuspended ? "True" : "False";
    if (present === undefined ? !isSuspended : present.status === value) return false;
    const word = isSuspended ? "Suspended" : "Resumed";
    const message = `Job ${word.toLowerCase()}`;
    const condition = newCondition("Suspended", `Job${word}`, message, now);
    const next = { ...condition, status: value } as const;
    status.conditions = withCondition(status.conditions ?? [], next);
    this.recorder.record(jobResource, job, { type: "Normal", reason: word, message });
    return true;
  }

  private track(state: JobState, needsWrite: boolean): Promise<Tracked> {
    const { metrics, removals } = this;
    const { client } = this.context;
    const updateStatus = async (job: Job, status: JobStatus): Promise<Job> => {
      const stored = await client.update(
        jobResource,
        { ...job, status },
        { subresource: "status" },
      );
      this.written.add(stored);
      return stored;
    };
    return trackFinishes(state, needsWrite, { client, metrics, removals, updateStatus });
  }

  private recordFinish({ job, isFinished: isNew }: Tracked): void {
    const finished = finishedConditionOf(job);
    if (!isNew || finished === undefined) return;
    this.metrics.finished(job.spec, finished);
    const record = (type: "Normal" | "Warning", reason: string, message: string) =>
      this.recorder.record(jobResource, job, { type, reason, message });
    const { type, reason = "", message = "" } = finished;
    if (type === "Failed") return record("Warning", reason, message);
    const { succeeded = 0 } = job.status ?? {};
    if (succeeded > (job.spec.completions ?? Infinity)) {
      const excess = "Too many succeeded pods running after completion count reached";
      record("Warning", "TooManySucceededPods", excess);
    }
    record("Normal", "Completed", "Job completed");
  }
}

interface Outcome {
  /** Active pods after the sync. */
  readonly active: number;
  readonly action: SyncAction;
  /** First error of a request; undefined = none. */
  readonly failure: unknown;
  /** Whether the status has changes other than pod counts. */
  readonly hasChanged: boolean;
}
