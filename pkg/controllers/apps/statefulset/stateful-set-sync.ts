import type { Pod, StatefulSet, StatefulSetStatus } from "#kinds";
import { combinedError } from "../../owners/combined-error.ts";
import { isTerminal } from "../../pods/pod-state.ts";
import { slowStart } from "../../pods/slow-start.ts";
import { scaledValue } from "../../scaled-value.ts";
import { templateOf } from "../history/controller-revision.ts";
import type { StatefulPodControl } from "./stateful-pod-control.ts";
import {
  type IdentityLabels,
  isInRange,
  isRunningAndReady,
  isUnavailable,
  ordinalOf,
  podName,
  revisionOf,
  startOrdinal,
  statefulPod,
} from "./stateful-pods.ts";
import { calculateStatus, type Revisions } from "./stateful-set-status.ts";

export interface SyncInput {
  readonly set: StatefulSet;
  readonly pods: readonly Pod[];
  readonly revisions: Revisions;
  readonly control: StatefulPodControl;
  readonly labels: IdentityLabels;
  /** Whether the gate MaxUnavailableStatefulSet is on. */
  readonly hasMaxUnavailable: boolean;
  /** Time in milliseconds since 1970. */
  readonly now: number;
}

/** `stop` = end this sync until the pods have changed. */
type Outcome = "stop" | "continue";

/** An ordinal in range and its pod; undefined = not created yet. */
interface Replica {
  readonly ordinal: number;
  readonly pod: Pod | undefined;
}

export interface SyncResult {
  readonly status: StatefulSetStatus;
  /** Error that ended the sync; undefined = none. */
  readonly failure: unknown;
}

/** Creates, repairs and deletes pods as the pod management policy and the update strategy allow. */
export async function syncPods(input: SyncInput): Promise<SyncResult> {
  const sync = new PodSync(input);
  try {
    const removed = input.set.metadata.deletionTimestamp === undefined ? await sync.run() : 0;
    return { status: sync.status(removed), failure: undefined };
  } catch (failure) {
    return { status: sync.status(0), failure };
  }
}

class PodSync {
  private readonly replicas: readonly Replica[];
  /** Pods with ordinals out of range, highest first. */
  private readonly condemned: readonly Pod[];
  private readonly isOrdered: boolean;
  /** Unavailable pod with the lowest ordinal; undefined = all are available. */
  private readonly firstUnavailable: Pod | undefined;
  /** The StatefulSet with the template of the update revision. */
  private readonly updated: StatefulSet;
  /** The StatefulSet with the template of the current revision. */
  private readonly current: StatefulSet;

  constructor(private readonly input: SyncInput) {
    const { set, pods, revisions, now } = input;
    const byOrdinal = new Map(pods.map((pod) => [ordinalOf(pod), pod]));
    this.replicas = Array.from({ length: set.spec.replicas }, (_, index) => {
      const ordinal = startOrdinal(set) + index;
      return { ordinal, pod: byOrdinal.get(ordinal) };
    });
    this.condemned = pods
      .filter((pod) => ordinalOf(pod) >= 0 && !isInRange(set, ordinalOf(pod)))
      .sort((left, right) => ordinalOf(right) - ordinalOf(left));
    this.isOrdered = set.spec.podManagementPolicy !== "Parallel";
    const inOrder = [...this.replicas.map(({ pod }) => pod), ...this.condemned.toReversed()];
    this.firstUnavailable = inOrder.find((pod) => isUnavailable(set, pod, now));
    this.updated = atRevision(set, revisions.update);
    this.current = atRevision(set, revisions.current);
  }

  /** Status from the pods as read, less the `removed` ones that an update deleted. */
  status(removed: number): StatefulSetStatus {
    const { set, pods } = this.input;
    const counted = calculateStatus(set, pods, this.input);
    const left = Math.max(0, (counted.currentReplicas ?? 0) - removed);
    return { ...counted, currentReplicas: left };
  }

  /** Returns the number of outdated pods that were deleted. */
  async run(): Promise<number> {
    const { control, set } = this.input;
    const claims = async (pod: Pod): Promise<Outcome> => {
      await control.updateClaims(this.updated, pod);
      return "continue";
    };
    const isStopped =
      (await this.forEach(this.replicas, (each) => this.processReplica(each))) === "stop" ||
      (await this.forEach(this.condemned, claims)) === "stop" ||
      (await this.forEach(this.condemned, (pod) => this.processCondemned(pod))) === "stop";
    if (isStopped || set.spec.updateStrategy.type === "OnDelete") return 0;
    return this.input.hasMaxUnavailable ? this.updateWithinMaxUnavailable() : this.updateOne();
  }

  /** OrderedReady: one item at a time until one stops. Parallel: all, in growing batches. */
  private async forEach<T>(
    items: readonly T[],
    work: (item: T) => Promise<Outcome>,
  ): Promise<Outcome> {
    if (!this.isOrdered) {
      const { failures } = await slowStart(items.length, (index) => work(items[index]!));
      if (failures.length > 0) throw combinedError(failures);
      return "continue";
    }
    for (const item of items) {
      if ((await work(item)) === "stop") return "stop";
    }
    return "continue";
  }

  /** Creates the pod of an ordinal or restores its identity; OrderedReady stops until it is available. */
  private async processReplica({ ordinal, pod }: Replica): Promise<Outcome> {
    const { set, control, now } = this.input;
    if (pod === undefined) return this.create(ordinal);
    const isTerminating = pod.metadata.deletionTimestamp !== undefined;
    if (isTerminal(pod)) {
      if (!isTerminating) await control.delete(set, pod);
      return "stop";
    }
    if (pod.status?.phase === "Pending") await control.createMissingClaims(set, pod);
    const isWaiting = isTerminating || !isRunningAndReady(pod) || isUnavailable(set, pod, now);
    if (this.isOrdered && isWaiting) return "stop";
    await control.repair(this.updated, pod);
    return "continue";
  }

  private async create(ordinal: number): Promise<Outcome> {
    const { set, control, labels, revisions } = this.input;
    const name = podName(set, ordinal);
    if (control.hasStaleClaim(set, name, ordinal)) return "stop";
    const isOld = this.isOfCurrentRevision(ordinal);
    const revision = (isOld ? revisions.current : revisions.update).metadata.name;
    const draft = statefulPod(isOld ? this.current : this.updated, { ordinal, revision, labels });
    await control.create(set, draft, ordinal);
    return this.isOrdered ? "stop" : "continue";
  }

  /** Whether a new pod of this ordinal gets the current revision instead of the update revision. */
  private isOfCurrentRevision(ordinal: number): boolean {
    const { spec, status } = this.input.set;
    const { type, rollingUpdate } = spec.updateStrategy;
    const index = ordinal - startOrdinal(this.input.set);
    if (rollingUpdate !== undefined) return index < (rollingUpdate.partition ?? 0);
    return type === "RollingUpdate" && index < (status?.currentReplicas ?? 0);
  }

  /** Deletes a pod out of range. OrderedReady: an unhealthy one only if it is the first unhealthy pod. */
  private async processCondemned(pod: Pod): Promise<Outcome> {
    const { set, control, now } = this.input;
    if (pod.metadata.deletionTimestamp !== undefined) return this.isOrdered ? "stop" : "continue";
    const isWaiting = !isRunningAndReady(pod) || isUnavailable(set, pod, now);
    if (this.isOrdered && isWaiting && pod !== this.firstUnavailable) return "stop";
    await control.delete(set, pod);
    return "stop";
  }

  /** Replicas at or above the partition, highest ordinal first. */
  private updatable(): readonly Replica[] {
    const { rollingUpdate } = this.input.set.spec.updateStrategy;
    return this.replicas.slice(rollingUpdate?.partition ?? 0).toReversed();
  }

  private isOutdated(pod: Pod | undefined): pod is Pod {
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return false;
    return revisionOf(pod) !== this.input.revisions.update.metadata.name;
  }

  private async updateOne(): Promise<number> {
    const { set, now } = this.input;
    for (const { pod } of this.updatable()) {
      if (this.isOutdated(pod)) return this.deleteOutdated(pod);
      if (isUnavailable(set, pod, now)) return 0;
    }
    return 0;
  }

  /** Deletes outdated pods within `maxUnavailable` (gate MaxUnavailableStatefulSet). */
  private async updateWithinMaxUnavailable(): Promise<number> {
    const { set, now } = this.input;
    const { maxUnavailable = 1 } = set.spec.updateStrategy.rollingUpdate ?? {};
    const limit = Math.max(1, scaledValue(maxUnavailable, set.spec.replicas, "down"));
    const unavailable = this.replicas.filter(({ pod }) => isUnavailable(set, pod, now)).length;
    let removed = 0;
    for (const { pod } of this.updatable()) {
      if (unavailable + removed >= limit) break;
      if (this.isOutdated(pod)) removed += await this.deleteOutdated(pod);
    }
    return removed;
  }

  private async deleteOutdated(pod: Pod): Promise<number> {
    await this.input.control.delete(this.input.set, pod);
    return 1;
  }
}

function atRevision(set: StatefulSet, revision: Revisions["current"]): StatefulSet {
  const template = templateOf(revision);
  return template === undefined ? set : { ...set, spec: { ...set.spec, template } };
}
