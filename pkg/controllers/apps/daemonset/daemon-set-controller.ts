import { deepEqual } from "#base";
import {
  type Informer,
  type InformerEvent,
  objectKey,
  type WorkQueue,
  CoreEventRecorder,
} from "#client";
import {
  type DaemonSet,
  daemonSets,
  type DaemonSetStatus,
  type Node,
  nodes as nodeHandle,
  type Pod,
  pods as podHandle,
} from "#kinds";
import { isNotFound } from "#meta";
import { type ControllerContext, isTerminating, newWorkQueue } from "../../controller-context.ts";
import { writeStatus } from "../../owners/write-status.ts";
import { claimObjects } from "../../owners/claim.ts";
import { combinedError } from "../../owners/combined-error.ts";
import { isControlledBy } from "../../owners/controller-ref.ts";
import { Expectations } from "../../owners/expectations.ts";
import { watchOwned } from "../../owners/owned-object-events.ts";
import { OwnedObjects } from "../../owners/owned-objects.ts";
import { selectorOf } from "../../owners/selectors.ts";
import { PodControl, podFromTemplate } from "../../pods/pod-control.ts";
import { nextAvailableInMs, isTerminal } from "../../pods/pod-state.ts";
import { slowStart } from "../../pods/slow-start.ts";
import { WrittenObjects } from "../../written-objects.ts";
import { affinityFor, daemonTemplate, nodeEligibility, targetNode } from "./daemon-pods.ts";
import { DaemonSetHistory } from "./daemon-set-history.ts";
import { calculateStatus, isStatusChanged } from "./daemon-set-status.ts";
import { FailedPodBackoff } from "./failed-pod-backoff.ts";
import { type DaemonView, type NodePlan, planNodes, planUpdate } from "./node-plan.ts";

const component = "daemonset-controller";
/** Maximum number of pods that one sync creates, and deletes. */
const burstReplicas = 250;
const nodeIndex = "node";

export interface DaemonSetOptions {
  readonly daemonSetWorkers: number;
}

/** Runs one pod of each DaemonSet on every eligible node. */
export async function runDaemonSetController(
  context: ControllerContext,
  { daemonSetWorkers }: DaemonSetOptions,
): Promise<void> {
  await new DaemonSetController(context).run(daemonSetWorkers);
}

class DaemonSetController {
  private readonly queue: WorkQueue;
  private readonly nodeQueue: WorkQueue;
  private readonly sets: Informer<DaemonSet>;
  private readonly pods: Informer<Pod>;
  private readonly nodes: Informer<Node>;
  private readonly ownedPods: OwnedObjects<Pod>;
  private readonly written: WrittenObjects<DaemonSet>;
  private readonly history: DaemonSetHistory;
  private readonly expectations: Expectations;
  private readonly backoff: FailedPodBackoff;
  private readonly recorder: CoreEventRecorder;
  private readonly control: PodControl;

  constructor(private readonly context: ControllerContext) {
    const { informers, client, clock } = context;
    this.queue = newWorkQueue(context, "daemonset");
    this.nodeQueue = newWorkQueue(context, "daemonset-node-updates");
    this.sets = informers.of(daemonSets);
    this.pods = informers.of(podHandle);
    this.nodes = informers.of(nodeHandle);
    this.ownedPods = new OwnedObjects(this.pods);
    this.pods.addIndex(nodeIndex, ({ spec }) => (spec?.nodeName ? [spec.nodeName] : []));
    this.written = new WrittenObjects(this.sets);
    this.history = new DaemonSetHistory(context, this.written);
    this.expectations = new Expectations(clock);
    this.backoff = new FailedPodBackoff(clock);
    this.recorder = new CoreEventRecorder(context, component);
    this.control = new PodControl(client, this.recorder, daemonSets);
  }

  async run(workers: number): Promise<void> {
    this.subscribe();
    const needed = [this.sets, this.pods, this.nodes, this.history.revisions.informer];
    await Promise.all(needed.map((informer) => informer.untilSynced()));
    await Promise.all([
      this.recorder.run(),
      this.queue.run((key) => this.sync(key), { workers }),
      this.nodeQueue.run((name) => this.syncNode(name), { workers }),
    ]);
  }

  private subscribe(): void {
    this.sets.subscribe(({ type, object }) => {
      const key = objectKey(object);
      if (type === "deleted") this.expectations.forget(key);
      this.queue.add(key);
    });
    const owners = { owners: this.sets, kind: daemonSets.kind };
    const matches = ({ spec }: DaemonSet, labels: Readonly<Record<string, string>>) =>
      selectorOf(spec.selector).matches(labels);
    const changed = (set: DaemonSet) => this.queue.add(objectKey(set));
    const { expectations } = this;
    watchOwned({ objects: this.pods, ...owners, matches, changed, expectations });
    watchOwned({
      objects: this.history.revisions.informer,
      ...owners,
      matches,
      // A revision that is added with its owner was created by this controller.
      changed: (set, change) => {
        if (change?.type !== "added") changed(set);
      },
    });
    this.nodes.subscribe((change) => this.nodeChanged(change));
  }

  /** Ignores deleted nodes: the pod garbage collector deletes their pods. */
  private nodeChanged(change: InformerEvent<Node>): void {
    const { type, object } = change;
    if (type === "deleted") return;
    const isSame =
      type === "updated" &&
      deepEqual(change.before.metadata.labels, object.metadata.labels) &&
      deepEqual(change.before.spec?.taints, object.spec?.taints);
    if (!isSame) this.nodeQueue.add(object.metadata.name);
  }

  /** Enqueues the DaemonSets that have to add or remove a pod on a node. */
  private async syncNode(name: string): Promise<void> {
    const node = this.nodes.get(name);
    if (node === undefined) return;
    const onNode = this.pods.indexed(nodeIndex, name);
    for (const set of this.sets.all()) {
      const { shouldRun, shouldContinue } = this.eligibilityOf(set)(node);
      const hasPod = onNode.some((pod) => isControlledBy(pod, set));
      const isMisscheduled = (set.status?.numberMisscheduled ?? 0) > 0;
      const needsSync = hasPod ? !shouldContinue || isMisscheduled : shouldRun;
      if (needsSync) this.queue.add(objectKey(set));
    }
  }

  private eligibilityOf(set: DaemonSet) {
    return nodeEligibility(set, this.context.client.domain);
  }

  private async sync(key: string): Promise<void> {
    const set = this.written.latest(key);
    if (set === undefined || set.metadata.deletionTimestamp !== undefined) return;
    if (selectorOf(set.spec.selector).empty) {
      const message = "This daemon set is selecting all pods. A non-empty selector is required.";
      this.recorder.record(daemonSets, set, { type: "Warning", reason: "SelectingAll", message });
      return;
    }
    try {
      await this.syncSet(set);
    } catch (error) {
      if (!isTerminating(error)) throw error;
    }
  }

  private async syncSet(set: DaemonSet): Promise<void> {
    const key = objectKey(set);
    const { hash, old } = await this.history.of(set, () => this.claimPods(set));
    const pods = await this.claimPods(set);
    const view: DaemonView = {
      set,
      hash,
      nodes: [...this.nodes.all()],
      podsByNode: byNode(pods),
      eligibility: this.eligibilityOf(set),
      now: this.context.clock.now(),
    };
    const isCacheCurrent = this.expectations.areSatisfied(key);
    const failure = isCacheCurrent ? await this.manage(view) : undefined;
    if (isCacheCurrent && failure === undefined) await this.history.cleanUp(set, old, pods);
    await this.updateStatus(set, calculateStatus(view, isCacheCurrent));
    if (failure !== undefined) throw failure;
    this.requeueForAvailability(set, pods);
  }

  private claimPods(set: DaemonSet): Promise<readonly Pod[]> {
    const selector = selectorOf(set.spec.selector);
    return claimObjects(this.ownedPods.candidates(set), {
      client: this.context.client,
      resource: podHandle,
      owner: set,
      ownerResource: daemonSets,
      matches: ({ metadata }) => selector.matches(metadata.labels ?? {}),
    });
  }

  private async manage(view: DaemonView): Promise<unknown> {
    const { set } = view;
    const plan = planNodes(view, (pod, node) => this.mayDeleteTerminated(set, pod, node));
    const failure = await this.syncNodes(view, plan);
    const isDone = this.expectations.areSatisfied(objectKey(set));
    const isRolling = set.spec.updateStrategy.type !== "OnDelete";
    if (failure !== undefined || !isDone || !isRolling) return failure;
    // The view lacks the pods that were created or deleted just now.
    if (plan.nodes.length + plan.deletions.length > 0) return undefined;
    return this.syncNodes(view, planUpdate(view));
  }

  /** Whether a terminated pod may be deleted now; records the Event. Failed pods are subject to backoff. */
  private mayDeleteTerminated(set: DaemonSet, { metadata, status }: Pod, node: string): boolean {
    const where = `daemon pod ${metadata.namespace}/${metadata.name} on node ${node}`;
    const record = (type: "Normal" | "Warning", reason: string, message: string) =>
      this.recorder.record(daemonSets, set, { type, reason, message });
    if (status?.phase === "Succeeded") {
      const message = `Found succeeded ${where}, will try to delete it`;
      record("Normal", "SucceededDaemonPod", message);
      return true;
    }
    const generation = Number(set.status?.observedGeneration ?? 0);
    const delayMs = this.backoff.next(`${set.metadata.uid}/${generation}/${node}`);
    if (delayMs > 0) {
      this.queue.addAfter(objectKey(set), delayMs);
      return false;
    }
    record("Warning", "FailedDaemonPod", `Found failed ${where}, will try to kill it`);
    return true;
  }

  private async syncNodes(
    { set, hash }: DaemonView,
    { nodes, deletions }: NodePlan,
  ): Promise<unknown> {
    const [created, deleted] = [nodes.slice(0, burstReplicas), deletions.slice(0, burstReplicas)];
    if (created.length + deleted.length === 0) return undefined;
    const key = objectKey(set);
    this.expectations.expect(key, created.length, deleted.map(objectKey));
    const failures = await this.create(set, hash, created);
    await Promise.all(
      deleted.map((pod) =>
        this.control.delete(set, pod).catch((error: unknown) => {
          this.expectations.observeDeletion(key, objectKey(pod));
          if (!isNotFound(error)) failures.push(error);
        }),
      ),
    );
    return failures.length === 0 ? undefined : combinedError(failures);
  }

  private async create(set: DaemonSet, hash: string, nodes: readonly string[]): Promise<unknown[]> {
    const key = objectKey(set);
    const template = daemonTemplate(set, hash, this.context.client.domain);
    const draft = podFromTemplate(template, set, daemonSets);
    const { succeeded, failures } = await slowStart(nodes.length, (index) => {
      const affinity = affinityFor(template.spec?.affinity, nodes[index]!);
      return this.control
        .create(set, { ...draft, spec: { ...draft.spec, affinity } })
        .catch((error: unknown) => {
          if (!isTerminating(error)) throw error;
          this.expectations.observeCreations(key);
        });
    });
    this.expectations.observeCreations(key, nodes.length - succeeded);
    return [...failures];
  }

  /** Writes the status if it changed; retries once with the newest version. */
  private async updateStatus(set: DaemonSet, status: DaemonSetStatus): Promise<void> {
    if (!isStatusChanged(set, status)) return;
    const statusOn = (version: typeof set) => ({ ...version.status, ...status });
    const write = { object: set, statusOn, written: this.written };
    await writeStatus(this.context.client, daemonSets, write);
  }

  /** Requeues the DaemonSet for when its next ready pod becomes available. */
  private requeueForAvailability(set: DaemonSet, pods: readonly Pod[]): void {
    const { minReadySeconds } = set.spec;
    const next = nextAvailableInMs(pods, minReadySeconds, this.context.clock.now());
    if (next !== undefined) this.queue.addAfter(objectKey(set), next);
  }
}

/** Pods by node, without terminated pods that are being deleted. */
function byNode(pods: readonly Pod[]): ReadonlyMap<string, readonly Pod[]> {
  const found = new Map<string, Pod[]>();
  for (const pod of pods) {
    if (isTerminal(pod) && pod.metadata.deletionTimestamp !== undefined) continue;
    const node = targetNode(pod);
    if (node === undefined) continue;
    const known = found.get(node);
    if (known === undefined) found.set(node, [pod]);
    else known.push(pod);
  }
  return found;
}
