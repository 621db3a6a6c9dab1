import { setBounded } from "#base";
import { type ApiObject, type Informer, objectKey, type WorkQueue } from "#client";
import { type Job, jobs as jobResource, type Pod, pods as podResource } from "#kinds";
import { ignoreNotFound } from "#meta";
import { type ControllerContext, newWorkQueue } from "../../controller-context.ts";
import { controllerOf } from "../../owners/controller-ref.ts";
import type { JobNames } from "./job-names.ts";
import { finalizerRemoval, hasTrackingFinalizer } from "./job-pods.ts";
import { isFinished, isManagedByOther } from "./job-spec.ts";

const maxDeletedUids = 10_000;

export interface OrphanPodOptions {
  readonly pods: Informer<Pod>;
  readonly jobs: Informer<Job>;
  readonly names: JobNames;
}

/**
 * Removes the tracking finalizer from pods whose Job is deleted or finished, so that they can be deleted.
 */
export class OrphanPods {
  private readonly queue: WorkQueue;
  /** UIDs of recently deleted Jobs. */
  private readonly deleted = new Map<string, true>();

  constructor(
    private readonly context: ControllerContext,
    private readonly options: OrphanPodOptions,
  ) {
    const delays = { firstMs: 1_000, maxMs: 60_000 };
    this.queue = newWorkQueue({ ...context, delays }, "job_orphan_pod");
    options.jobs.subscribe(({ type, object }) => {
      if (type !== "deleted") return;
      setBounded(this.deleted, [object.metadata.uid, true], maxDeletedUids);
    });
  }

  /** Called with changed pods, and with the pods of Jobs that are deleted or have finished. */
  add(pod: Pod): void {
    const { jobs, names } = this.options;
    if (!hasTrackingFinalizer(pod, names)) return;
    // Before the initial list of Jobs every pod looks like an orphan.
    if (jobs.synced && this.isOrphanCandidate(pod)) this.queue.add(objectKey(pod));
  }

  /** Runs until the signal aborts; requires both informers to have synced. */
  async run(workers: number): Promise<void> {
    for (const pod of this.options.pods.all()) this.add(pod);
    await this.queue.run((key) => this.sync(key), { workers });
  }

  private isOrphanCandidate(pod: Pod): boolean {
    const owner = controllerOf(pod);
    if (owner === undefined) return true;
    if (owner.kind !== jobResource.kind || owner.apiVersion !== "batch/v1") return false;
    const job = this.cachedOwner(pod, owner.name, owner.uid);
    return job === undefined || (isFinished(job) && !isManagedByOther(job, this.options.names));
  }

  private cachedOwner({ metadata }: Pod, name: string, uid: string): Job | undefined {
    const job = this.options.jobs.get(`${metadata.namespace ?? ""}/${name}`);
    return job?.metadata.uid === uid ? job : undefined;
  }

  private async sync(key: string): Promise<void> {
    const { names, pods } = this.options;
    const pod = pods.get(key);
    if (pod === undefined || !hasTrackingFinalizer(pod, names) || !this.isOrphanCandidate(pod))
      return;
    if (await this.hasUncachedJob(pod)) return;
    const { namespace = "", name } = pod.metadata;
    const patch = finalizerRemoval(pod, names);
    await this.context.client.patch(podResource, { namespace, name }, patch).catch(ignoreNotFound);
  }

  /** Whether a Job that the informer does not show exists: a live read, since the informer may be stale. */
  private async hasUncachedJob(pod: Pod): Promise<boolean> {
    const owner = controllerOf(pod);
    if (owner === undefined || this.deleted.has(owner.uid)) return false;
    if (this.cachedOwner(pod, owner.name, owner.uid) !== undefined) return false;
    const { client } = this.context;
    const { namespace = "" } = pod.metadata;
    const found: ApiObject | undefined = await client
      .get(jobResource, { namespace, name: owner.name })
      .catch(ignoreNotFound);
    if (found?.metadata.uid !== owner.uid) return false;
    // Its sync, or an informer event once it has finished, handles the pod.
    return true;
  }
}
