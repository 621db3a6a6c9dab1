import { type Informer, objectKey, type WorkQueue, CoreEventRecorder } from "#client";
import { featureGates } from "#api";
import { type Pod, pods as podHandle, type ReplicaSetStatus } from "#kinds";
import { isNotFound } from "#meta";
import { type ControllerContext, isTerminating, newWorkQueue } from "../../controller-context.ts";
import { writeStatus } from "../../owners/write-status.ts";
import { claimObjects } from "../../owners/claim.ts";
import { controllerOf } from "../../owners/controller-ref.ts";
import { OwnedObjects } from "../../owners/owned-objects.ts";
import { inDeletionOrder } from "../../pods/deletion-order.ts";
import { Expectations } from "../../owners/expectations.ts";
import { watchOwned } from "../../owners/owned-object-events.ts";
import { PodControl, podFromTemplate } from "../../pods/pod-control.ts";
import { isActive, isReady, nextAvailableInMs } from "../../pods/pod-state.ts";
import { slowStart } from "../../pods/slow-start.ts";
import { WrittenObjects } from "../../written-objects.ts";
import {
  type ReplicaKind,
  replicaSetKind,
  replicationControllerKind,
  type ReplicaWorkload,
} from "./replica-kinds.ts";
import { isStatusChanged, nextReplicaStatus } from "./replica-set-status.ts";
import { deletionAgeRatio } from "./replica-set-metrics.ts";

/** Maximum number of pods that one sync creates or deletes; the next one waits for the informer. */
const burstReplicas = 500;

interface DeletionOptions {
  /** Whether a feature gate is enabled; absent = the defaults of Kubernetes 1.34. */
  readonly gates?: (name: string) => boolean;
}

export interface ReplicaSetOptions extends DeletionOptions {
  readonly replicaSetWorkers: number;
}

export interface ReplicationControllerOptions extends DeletionOptions {
  readonly replicationControllerWorkers: number;
}

/** Maintains the number of pods of each ReplicaSet. */
export async function runReplicaSetController(
  context: ControllerContext,
  { replicaSetWorkers, gates }: ReplicaSetOptions,
): Promise<void> {
  await new ReplicaController(context, replicaSetKind, gates).run(replicaSetWorkers);
}

/** Maintains the number of pods of each ReplicationController. */
export async function runReplicationController(
  context: ControllerContext,
  { replicationControllerWorkers, gates }: ReplicationControllerOptions,
): Promise<void> {
  await new ReplicaController(context, replicationControllerKind, gates).run(
    replicationControllerWorkers,
  );
}

class ReplicaController<T extends ReplicaWorkload> {
  private readonly queue: WorkQueue;
  private readonly workloads: Informer<T>;
  private readonly pods: Informer<Pod>;
  private readonly written: WrittenObjects<T>;
  private readonly ownedWorkloads: OwnedObjects<T>;
  private readonly ownedPods: OwnedObjects<Pod>;
  private readonly expectations: Expectations;
  private readonly recorder: CoreEventRecorder;
  private readonly control: PodControl;

  constructor(
    private readonly context: ControllerContext,
    private readonly kind: ReplicaKind<T>,
    private readonly gates: (name: string) => boolean = featureGates(new Map()),
  ) {
    const { informers, client, clock } = context;
    this.queue = newWorkQueue(context, kind.queue);
    this.workloads = informers.of(kind.resource);
    this.pods = informers.of(podHandle);
    this.written = new WrittenObjects(this.workloads);
    this.ownedWorkloads = new OwnedObjects(this.workloads);
    this.ownedPods = new OwnedObjects(this.pods);
    this.expectations = new Expectations(clock);
    this.recorder = new CoreEventRecorder(context, kind.component);
    this.control = new PodControl(client, this.recorder, kind.resource);
  }

  async run(workers: number): Promise<void> {
    this.workloads.subscribe(({ type, object }) => {
      const key = objectKey(object);
      // A new workload of this name must start without expectations.
      if (type === "deleted") this.expectations.forget(key);
      this.queue.add(key);
    });
    watchOwned({
      objects: this.pods,
      owners: this.workloads,
      kind: this.kind.resource.kind,
      matches: (workload, labels) => this.matches(workload, labels),
      expectations: this.expectations,
      changed: (workload) => this.queue.add(objectKey(workload)),
    });
    await Promise.all([this.workloads.untilSynced(), this.pods.untilSynced()]);
    const work = (key: string) => this.sync(key);
    await Promise.all([this.recorder.run(), this.queue.run(work, { workers })]);
  }

  private async sync(key: string): Promise<void> {
    const workload = this.written.latest(key);
    if (workload === undefined) return;
    const isCacheCurrent = this.expectations.areSatisfied(key);
    const pods = await this.claimPods(workload);
    const isTerminatingNow = workload.metadata.deletionTimestamp !== undefined;
    const failure =
      isCacheCurrent && !isTerminatingNow ? await this.manage(workload, pods) : undefined;
    const now = this.context.clock.now();
    const status = nextReplicaStatus(workload, { pods, failure, now });
    await this.updateStatus(workload, status);
    if (failure !== undefined) throw failure;
    this.requeueForAvailability(workload, { pods, status, now });
  }

  private matches(workload: T, labels: Readonly<Record<string, string>>): boolean {
    return this.kind.selectorOf(workload).matches(labels);
  }

  /** Active pods of the workload, after adopting matching orphans and releasing others. */
  private claimPods(workload: T): Promise<readonly Pod[]> {
    return claimObjects(this.ownedPods.candidates(workload).filter(isActive), {
      client: this.context.client,
      resource: podHandle,
      owner: workload,
      ownerResource: this.kind.resource,
      matches: ({ metadata }) => this.matches(workload, metadata.labels ?? {}),
    });
  }

  /** Creates or deletes pods; returns the first error, which also becomes the condition ReplicaFailure. */
  private async manage(workload: T, pods: readonly Pod[]): Promise<Error | undefined> {
    const missing = workload.spec.replicas - pods.length;
    if (missing > 0) return this.createPods(workload, Math.min(missing, burstReplicas));
    if (missing < 0) return this.deletePods(workload, pods, Math.min(-missing, burstReplicas));
    return undefined;
  }

  private async createPods(workload: T, count: number): Promise<Error | undefined> {
    const key = objectKey(workload);
    const draft = podFromTemplate(workload.spec.template, workload, this.kind.resource);
    this.expectations.expect(key, count);
    const { succeeded, failures } = await slowStart(count, () =>
      this.control.create(workload, draft).catch((error: unknown) => {
        // The namespace is terminating: the workload will be deleted, too.
        if (!isTerminating(error)) throw error;
        this.expectations.observeCreations(key);
      }),
    );
    this.expectations.observeCreations(key, count - succeeded);
    return failures[0] as Error | undefined;
  }

  private async deletePods(
    workload: T,
    pods: readonly Pod[],
    count: number,
  ): Promise<Error | undefined> {
    const key = objectKey(workload);
    const chosen = count < pods.length ? this.chooseForDeletion(workload, pods, count) : pods;
    this.expectations.expect(key, 0, chosen.map(objectKey));
    const failures: Error[] = [];
    await Promise.all(
      chosen.map((pod) =>
        this.control.delete(workload, pod).catch((error: Error) => {
          this.expectations.observeDeletion(key, objectKey(pod));
          if (!isNotFound(error)) failures.push(error);
        }),
      ),
    );
    return failures[0];
  }

  private chooseForDeletion(workload: T, pods: readonly Pod[], count: number): readonly Pod[] {
    const { clock, client } = this.context;
    const now = clock.now();
    const colocated = this.relatedPodsByNode(workload);
    const sorted = inDeletionOrder(pods, {
      colocated,
      now,
      domain: client.domain,
      hasCost: this.gates("PodDeletionCost"),
    });
    const chosen = sorted.slice(0, count);
    this.observeAgeRatios(pods, chosen, now);
    return chosen;
  }

  /** Number of active pods per node, of all workloads with the same controller. */
  private relatedPodsByNode(workload: T): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    const owner = controllerOf(workload);
    const related = owner === undefined ? [] : this.ownedWorkloads.ofUid(owner.uid);
    for (const pod of related.flatMap((each) => this.ownedPods.of(each))) {
      if (!isActive(pod)) continue;
      const node = pod.spec?.nodeName ?? "";
      counts.set(node, (counts.get(node) ?? 0) + 1);
    }
    return counts;
  }

  /** Observes the ages of the chosen ready pods, relative to the youngest ready one. */
  private observeAgeRatios(pods: readonly Pod[], chosen: readonly Pod[], now: number): void {
    const age = ({ metadata }: Pod) => now - Date.parse(metadata.creationTimestamp ?? "");
    const youngest = Math.min(...pods.filter(isReady).map(age));
    for (const pod of chosen.filter(isReady)) {
      const ratio = Math.trunc(age(pod) / Math.max(youngest, 1));
      this.context.instruments.observe(deletionAgeRatio.name, {}, ratio);
    }
  }

  /** Writes the status if it changed; retries once with the newest version. */
  private async updateStatus(workload: T, status: ReplicaSetStatus): Promise<void> {
    if (!isStatusChanged(workload, status)) return;
    const write = { object: workload, statusOn: () => status, written: this.written };
    await writeStatus<T>(this.context.client, this.kind.resource, write);
  }

  private requeueForAvailability(
    workload: T,
    { pods, status, now }: { pods: readonly Pod[]; status: ReplicaSetStatus; now: number },
  ): void {
    const { minReadySeconds = 0 } = workload.spec;
    if (minReadySeconds === 0 || status.readyReplicas === status.availableReplicas) return;
    const next = nextAvailableInMs(pods, minReadySeconds, now) ?? Infinity;
    this.queue.addAfter(objectKey(workload), Math.min(next, minReadySeconds * 1000));
  }
}
