import { setBounded } from "#base";
import { type ApiObject, type Informer, objectKey, type WorkQueue } from "#client";
import { type Job, jobs as jobResource, type Pod, pods as podResource } from "#kinds";
import { ignoreNotFound } from "#meta";
import { type ControllerContext, newWorkQueue } from "../../controller-context.ts";
import { controllerOf } from "../../owners/controller-ref.ts";
import type { JobNames } from "./job-names.ts";
import { finalizerRemoval, hasTrackingFinalizer } from "./job-pods.ts";
import { isFinished } from "./job-spec.ts";

const mostDeleted = 10_000;

export interface OrphanPodOptions {
  readonly pods: Informer<Pod>;
  readonly jobs: Informer<Job>;
  readonly names: JobNames;
}

/**
 * Removes the tracking finalizer from pods whose Job is gone or finished, since nothing else would
 * and they could never be deleted.
 */
export class OrphanPods {
  private readonly queue: WorkQueue;
  /** UIDs of Jobs that were deleted lately. */
  private readonly deleted = new Map<string, true>();

  constructor(
    private readonly context: ControllerContext,
    private readonly options: OrphanPodOptions,
  ) {
    const delays = { firstMs: 1_000, longestMs: 60_000 };
    this.queue = newWorkQueue({ ...context, delays }, "job_orphan_pod");
    options.jobs.subscribe(({ type, object }) => {
      if (type !== "deleted") return;
      setBounded(this.deleted, [object.metadata.uid, true], mostDeleted);
    });
  }

  /** Called with changed pods, and with the pods of Jobs that are deleted or have finished. */
  add(pod: Pod): void {
    const { jobs, names } = this.options;
    if (!hasTrackingFinalizer(pod, names)) return;
    // Before that, the Job may merely be unknown yet.
    if (jobs.synced && this.mayBeOrphan(pod)) this.queue.add(objectKey(pod));
  }

  /** Works until the signal aborts; both informers have synced. */
  async run(workers: number): Promise<void> {
    for (const pod of this.options.pods.all()) this.add(pod);
    await this.queue.run((key) => this.sync(key), { workers });
  }

  private mayBeOrphan(pod: Pod): boolean {
    const owner = controllerOf(pod);
    if (owner === undefined) return true;
    if (owner.kind !== jobResource.kind || owner.apiVersion !== "batch/v1") return false;
    const job = this.ownerIn(pod, owner.name, owner.uid);
    return job === undefined || (isFinished(job) && !this.isManagedByOther(job));
  }

  private isManagedByOther({ spec: { managedBy } }: Job): boolean {
    return managedBy !== undefined && managedBy !== this.options.names.controllerName;
  }

  private ownerIn({ metadata }: Pod, name: string, uid: string): Job | undefined {
    const job = this.options.jobs.get(`${metadata.namespace ?? ""}/${name}`);
    return job?.metadata.uid === uid ? job : undefined;
  }

  private async sync(key: string): Promise<void> {
    const { names, pods } = this.options;
    const pod = pods.get(key);
    if (pod === undefined || !hasTrackingFinalizer(pod, names) || !this.mayBeOrphan(pod)) return;
    if (await this.hasLivingJob(pod)) return;
    const { namespace = "", name } = pod.metadata;
    const patch = finalizerRemoval(pod, names);
    await this.context.client.patch(podResource, { namespace, name }, patch).catch(ignoreNotFound);
  }

  /** Reads a Job that the informer does not show: it may be newer than the informer. */
  private async hasLivingJob(pod: Pod): Promise<boolean> {
    const owner = controllerOf(pod);
    if (owner === undefined || this.deleted.has(owner.uid)) return false;
    if (this.ownerIn(pod, owner.name, owner.uid) !== undefined) return false;
    const { client } = this.context;
    const { namespace = "" } = pod.metadata;
    const found: ApiObject | undefined = await client
      .get(jobResource, { namespace, name: owner.name })
      .catch(ignoreNotFound);
    if (found?.metadata.uid !== owner.uid) return false;
    // Its own sync, or the informer's news that it has finished, comes later.
    return true;
  }
}
