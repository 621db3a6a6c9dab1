import { parseCronSchedule } from "#api";
import { deepEqual } from "#base";
import {
  type Informer,
  type InformerEvent,
  objectKey,
  type WorkQueue,
  CoreEventRecorder,
} from "#client";
import { type CronJob, cronJobs as cronJobResource, type Job, jobs as jobResource } from "#kinds";
import type { MetricDefinition } from "#request";
import { type ControllerContext, newWorkQueue } from "../../controller-context.ts";
import { controllerOf } from "../../owners/controller-ref.ts";
import { OwnedObjects } from "../../owners/owned-objects.ts";
import { WrittenObjects } from "../../written-objects.ts";
import { CronJobSync, creationSkewMetric, effectiveSchedule } from "./cron-job-sync.ts";
import { nextSyncDelay } from "./missed-schedules.ts";

export interface CronJobControllerOptions {
  /** Number of CronJobs synced concurrently. */
  readonly cronJobWorkers: number;
}

export const cronJobMetrics: readonly MetricDefinition[] = [
  {
    name: creationSkewMetric,
    kind: "histogram",
    help: "Time in seconds from the scheduled time of a CronJob to the creation of its Job.",
    labels: [],
    buckets: Array.from({ length: 10 }, (_, index) => 2 ** index),
  },
];

/** Creates Jobs at the scheduled times of CronJobs. */
export async function runCronJobController(
  context: ControllerContext,
  { cronJobWorkers: workers }: CronJobControllerOptions,
): Promise<void> {
  const controller = new CronJobController(context);
  await controller.run(workers);
}

class CronJobController {
  private readonly queue: WorkQueue;
  private readonly recorder: CoreEventRecorder;
  private readonly cronJobs: Informer<CronJob>;
  private readonly jobs: Informer<Job>;
  private readonly owned: OwnedObjects<Job>;
  private readonly written: WrittenObjects<CronJob>;

  constructor(private readonly context: ControllerContext) {
    const { informers } = context;
    this.queue = newWorkQueue(context, "cronjob");
    this.recorder = new CoreEventRecorder(context, "cronjob-controller");
    this.cronJobs = informers.of(cronJobResource);
    this.jobs = informers.of(jobResource);
    this.owned = new OwnedObjects(this.jobs);
    this.written = new WrittenObjects(this.cronJobs);
  }

  async run(workers: number): Promise<void> {
    const { cronJobs, jobs } = this;
    cronJobs.subscribe((change) => this.cronJobChanged(change));
    jobs.subscribe((change) => {
      this.enqueueOwner(change.object);
      if (change.type !== "updated") return;
      const isOwnerChanged = controllerOf(change.before)?.uid !== controllerOf(change.object)?.uid;
      if (isOwnerChanged) this.enqueueOwner(change.before);
    });
    await Promise.all([cronJobs.untilSynced(), jobs.untilSynced()]);
    const work = (key: string) => this.sync(key);
    await Promise.all([this.queue.run(work, { workers }), this.recorder.run()]);
  }

  private enqueueOwner(job: Job): void {
    const owner = controllerOf(job);
    if (owner?.kind !== cronJobResource.kind) return;
    const key = `${job.metadata.namespace ?? ""}/${owner.name}`;
    if (this.cronJobs.get(key)?.metadata.uid === owner.uid) this.queue.add(key);
  }

  /** Enqueues a CronJob. A changed schedule takes effect at its next time: its missed times are ignored. */
  private cronJobChanged(change: InformerEvent<CronJob>): void {
    const { type, object } = change;
    const key = objectKey(object);
    if (type !== "updated" || !hasNewSchedule(change.before, object)) return this.queue.add(key);
    const schedule = parseCronSchedule(effectiveSchedule(object));
    if (typeof schedule === "string") return this.queue.add(key);
    const delayMs = nextSyncDelay(object, schedule, this.context.clock.now());
    if (delayMs !== undefined) this.queue.addAfter(key, delayMs);
  }

  private async sync(key: string): Promise<void> {
    const { client } = this.context;
    const cronJob = this.written.latest(key);
    if (cronJob === undefined) return;
    const { context, recorder } = this;
    const sync = new CronJobSync({ ...context, recorder }, cronJob, this.owned.of(cronJob));
    let nextMs: number | undefined;
    let failure: unknown;
    try {
      nextMs = await sync.run();
    } catch (error) {
      failure = error;
    }
    const { current, status } = sync;
    if (!deepEqual(status, current.status ?? {})) {
      const draft = { ...current, status };
      this.written.add(await client.update(cronJobResource, draft, { subresource: "status" }));
    }
    if (failure !== undefined) throw failure;
    if (nextMs !== undefined) this.queue.addAfter(key, nextMs);
  }
}

function hasNewSchedule({ spec: before }: CronJob, { spec: after }: CronJob): boolean {
  return before.schedule !== after.schedule || before.timeZone !== after.timeZone;
}
