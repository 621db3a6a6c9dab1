import { objectKey } from "#client";
import { type Job, jobs as jobResource } from "#kinds";
import { ignoreNotFound } from "#meta";
import type { MetricDefinition } from "#request";
import { type ControllerContext, newWorkQueue } from "../controller-context.ts";
import { finishedConditionOf } from "./job/job-spec.ts";

export interface TtlAfterFinishedOptions {
  /** Number of Jobs deleted concurrently. */
  readonly ttlWorkers: number;
}

const durationMetric = "ttl_after_finished_controller_job_deletion_duration_seconds";

export const ttlAfterFinishedMetrics: readonly MetricDefinition[] = [
  {
    name: durationMetric,
    kind: "histogram",
    help: "Time in seconds from the expiry of a finished Job's TTL to its deletion.",
    labels: [],
    buckets: Array.from({ length: 14 }, (_, index) => 0.1 * 2 ** index),
  },
];

/** Deletes Jobs `ttlSecondsAfterFinished` after they have finished. */
export async function runTtlAfterFinishedController(
  context: ControllerContext,
  { ttlWorkers: workers }: TtlAfterFinishedOptions,
): Promise<void> {
  const { client, clock, informers, instruments } = context;
  const queue = newWorkQueue(context, "ttl_jobs_to_delete");
  const jobs = informers.of(jobResource);
  jobs.subscribe(({ type, object }) => {
    if (type !== "deleted" && expiryOf(object) !== undefined) queue.add(objectKey(object));
  });
  await jobs.untilSynced();
  /** Expiry of a Job if it has passed; otherwise requeues the Job. */
  const expiredAt = (key: string, job: Job | undefined): number | undefined => {
    const expiry = job && expiryOf(job);
    if (expiry === undefined || expiry <= clock.now()) return expiry;
    queue.addAfter(key, expiry - clock.now());
    return undefined;
  };
  const work = async (key: string): Promise<void> => {
    const found = jobs.get(key);
    if (found === undefined || expiredAt(key, found) === undefined) return;
    const { namespace = "", name } = found.metadata;
    // Live read: the TTL may have been extended.
    const fresh = await client.get(jobResource, { namespace, name }).catch(ignoreNotFound);
    const expiry = expiredAt(key, fresh);
    if (fresh === undefined || expiry === undefined) return;
    const { uid } = fresh.metadata;
    const options = { propagationPolicy: "Foreground", preconditions: { uid } } as const;
    await client.delete(jobResource, { namespace, name }, options).catch(ignoreNotFound);
    instruments.observe(durationMetric, {}, (clock.now() - expiry) / 1000);
  };
  await queue.run(work, { workers });
}

/** Expiry of a finished Job in milliseconds since 1970; undefined = never. */
function expiryOf(job: Job): number | undefined {
  const { ttlSecondsAfterFinished } = job.spec;
  const finished = finishedConditionOf(job);
  if (ttlSecondsAfterFinished === undefined || finished?.lastTransitionTime === undefined) {
    return undefined;
  }
  if (job.metadata.deletionTimestamp !== undefined) return undefined;
  return Date.parse(finished.lastTransitionTime) + ttlSecondsAfterFinished * 1000;
}
