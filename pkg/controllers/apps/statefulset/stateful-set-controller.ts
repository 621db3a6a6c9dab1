import { type Informer, objectKey, type WorkQueue, CoreEventRecorder } from "#client";
import {
  type ControllerRevision,
  persistentVolumeClaims,
  type Pod,
  pods as podHandle,
  type StatefulSet,
  statefulSets,
  type StatefulSetStatus,
} from "#kinds";
import { resolve } from "#meta";
import { type ControllerContext, isTerminating, newWorkQueue } from "../../controller-context.ts";
import { writeStatus } from "../../owners/write-status.ts";
import { claimObjects } from "../../owners/claim.ts";
import { watchOwned } from "../../owners/owned-object-events.ts";
import { OwnedObjects } from "../../owners/owned-objects.ts";
import { selectorOf } from "../../owners/selectors.ts";
import { nextAvailableInMs } from "../../pods/pod-state.ts";
import { WrittenObjects } from "../../written-objects.ts";
import { dataHash, isSameData, templatePatch } from "../history/controller-revision.ts";
import { RevisionHistory } from "../history/revision-history.ts";
import { StatefulPodControl } from "./stateful-pod-control.ts";
import { identityLabels, type IdentityLabels, isMember, revisionOf } from "./stateful-pods.ts";
import { completeRollingUpdate, isStatusChanged, type Revisions } from "./stateful-set-status.ts";
import { syncPods } from "./stateful-set-sync.ts";

const component = "statefulset-controller";

export interface StatefulSetOptions {
  readonly statefulSetWorkers: number;
  /** Whether a feature gate is on; absent = all have their defaults. */
  readonly gates?: (name: string) => boolean;
}

/** Maintains the pods and claims of StatefulSets. */
export async function runStatefulSetController(
  context: ControllerContext,
  options: StatefulSetOptions,
): Promise<void> {
  await new StatefulSetController(context, options).run();
}

class StatefulSetController {
  private readonly queue: WorkQueue;
  private readonly sets: Informer<StatefulSet>;
  private readonly pods: Informer<Pod>;
  private readonly ownedPods: OwnedObjects<Pod>;
  private readonly written: WrittenObjects<StatefulSet>;
  private readonly history: RevisionHistory<StatefulSet>;
  private readonly recorder: CoreEventRecorder;
  private readonly control: StatefulPodControl;
  private readonly labels: IdentityLabels;
  private readonly hashLabel: string;

  constructor(
    private readonly context: ControllerContext,
    private readonly options: StatefulSetOptions,
  ) {
    const { informers, client } = context;
    this.queue = newWorkQueue(context, "statefulset");
    this.sets = informers.of(statefulSets);
    this.pods = informers.of(podHandle);
    this.ownedPods = new OwnedObjects(this.pods);
    this.written = new WrittenObjects(this.sets);
    this.history = new RevisionHistory(context, statefulSets);
    this.recorder = new CoreEventRecorder(context, component);
    this.labels = identityLabels(client.domain);
    this.hashLabel = resolve("controller.{label}/hash", client.domain);
    const claims = informers.of(persistentVolumeClaims);
    this.control = new StatefulPodControl({
      client,
      recorder: this.recorder,
      claims,
      labels: this.labels,
    });
  }

  async run(): Promise<void> {
    const { informers } = this.context;
    this.sets.subscribe(({ object }) => this.queue.add(objectKey(object)));
    watchOwned({
      objects: this.pods,
      owners: this.sets,
      kind: statefulSets.kind,
      matches: ({ spec }, labels) => selectorOf(spec.selector).matches(labels),
      changed: (set) => this.queue.add(objectKey(set)),
    });
    const claims = informers.of(persistentVolumeClaims);
    const needed = [this.sets, this.pods, this.history.informer, claims];
    await Promise.all(needed.map((informer) => informer.untilSynced()));
    const workers = this.options.statefulSetWorkers;
    const work = (key: string) => this.sync(key);
    await Promise.all([this.recorder.run(), this.queue.run(work, { workers })]);
  }

  private async sync(key: string): Promise<void> {
    const set = this.written.latest(key);
    if (set === undefined) return;
    try {
      const history = await this.history.of(set);
      const pods = await this.claimPods(set);
      await this.syncSet(set, pods, history);
    } catch (error) {
      if (!isTerminating(error)) throw error;
    }
  }

  private async syncSet(
    set: StatefulSet,
    pods: readonly Pod[],
    history: readonly ControllerRevision[],
  ): Promise<void> {
    const { clock } = this.context;
    const revisions = await this.revisionsOf(set, history);
    const { status, failure } = await syncPods({
      set,
      pods,
      revisions,
      control: this.control,
      labels: this.labels,
      hasMaxUnavailable: this.options.gates?.("MaxUnavailableStatefulSet") ?? false,
      now: clock.now(),
    });
    await this.updateStatus(set, completeRollingUpdate(set, status));
    const live = new Set(pods.map(revisionOf));
    const { current, update } = revisions;
    const inUse = ({ metadata: { name } }: ControllerRevision) =>
      name === current.metadata.name || name === update.metadata.name || live.has(name);
    await this.history.truncate(history, inUse, set.spec.revisionHistoryLimit ?? 10);
    if (failure !== undefined) throw failure;
    this.requeueForAvailability(set, pods);
  }

  private claimPods(set: StatefulSet): Promise<readonly Pod[]> {
    const selector = selectorOf(set.spec.selector);
    return claimObjects(this.ownedPods.candidates(set), {
      client: this.context.client,
      resource: podHandle,
      owner: set,
      ownerResource: statefulSets,
      matches: (pod) => selector.matches(pod.metadata.labels ?? {}) && isMember(set, pod),
    });
  }

  /** Current and update revision. The latter is created, or an equal older one is renumbered. */
  private async revisionsOf(
    set: StatefulSet,
    history: readonly ControllerRevision[],
  ): Promise<Revisions> {
    const { spec, status } = set;
    const data = templatePatch(spec.template);
    const last = history.at(-1);
    const equal = history.findLast((each) => isSameData(each.data, data));
    const next = Number(last?.revision ?? 0) + 1;
    let collisionCount = status?.collisionCount ?? 0;
    let update = equal === undefined ? undefined : await this.renumbered(equal, last, next);
    while (update === undefined) {
      update = await this.history.create(set, {
        data,
        revision: next,
        labels: spec.template.metadata?.labels,
        annotations: set.metadata.annotations,
        hashLabel: this.hashLabel,
        hash: dataHash(data, collisionCount),
      });
      if (update === undefined) collisionCount++;
    }
    const name = status?.currentRevision;
    const current = history.find(({ metadata }) => metadata.name === name) ?? update;
    return { current, update, collisionCount };
  }

  private async renumbered(
    equal: ControllerRevision,
    last: ControllerRevision | undefined,
    next: number,
  ): Promise<ControllerRevision> {
    return equal === last ? equal : this.history.renumber(equal, next);
  }

  /** Writes the status if it changed; retries once with the newest version. */
  private async updateStatus(set: StatefulSet, status: StatefulSetStatus): Promise<void> {
    if (!isStatusChanged(set, status)) return;
    const statusOn = (version: typeof set) => ({ ...version.status, ...status });
    const write = { object: set, statusOn, written: this.written };
    await writeStatus(this.context.client, statefulSets, write);
  }

  /** Requeues the StatefulSet for when its next ready pod becomes available. */
  private requeueForAvailability(set: StatefulSet, pods: readonly Pod[]): void {
    const { minReadySeconds } = set.spec;
    const next = nextAvailableInMs(pods, minReadySeconds, this.context.clock.now());
    if (next !== undefined) this.queue.addAfter(objectKey(set), next);
  }
}
