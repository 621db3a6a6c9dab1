import {
  type Informer,
  type InformerEvent,
  objectKey,
  type WorkQueue,
  CoreEventRecorder,
} from "#client";
import {
  type Deployment,
  deployments,
  type Pod,
  pods as podHandle,
  type ReplicaSet,
  replicaSets,
} from "#kinds";
import { type ControllerContext, isTerminating, newWorkQueue } from "../../controller-context.ts";
import { claimObjects } from "../../owners/claim.ts";
import { controllerOf } from "../../owners/controller-ref.ts";
import { watchOwned } from "../../owners/owned-object-events.ts";
import { OwnedObjects } from "../../owners/owned-objects.ts";
import { selectorOf } from "../../owners/selectors.ts";
import { WrittenObjects } from "../../written-objects.ts";
import { DeploymentAnnotations } from "./deployment-annotations.ts";
import { conditionOf, progressing, reasons, withCondition } from "./deployment-conditions.ts";
import { DeploymentSync, type DeploymentDependencies } from "./deployment-sync.ts";
import { rollBack } from "./rollback.ts";
import { isComplete, progressDeadline } from "./rolling-limits.ts";
import { recreate, rollOut } from "./rollout.ts";
import { isScaled, scaleOnly, writeCounts } from "./scaling.ts";

const component = "deployment-controller";

export interface DeploymentOptions {
  readonly deploymentWorkers: number;
}

/** Rolls out Deployments: creates, scales and deletes their ReplicaSets. */
export async function runDeploymentController(
  context: ControllerContext,
  { deploymentWorkers }: DeploymentOptions,
): Promise<void> {
  await new DeploymentController(context).run(deploymentWorkers);
}

class DeploymentController {
  private readonly queue: WorkQueue;
  private readonly deployments: Informer<Deployment>;
  private readonly sets: Informer<ReplicaSet>;
  private readonly pods: Informer<Pod>;
  private readonly ownedSets: OwnedObjects<ReplicaSet>;
  private readonly ownedPods: OwnedObjects<Pod>;
  private readonly recorder: CoreEventRecorder;
  private readonly dependencies: DeploymentDependencies;

  constructor(private readonly context: ControllerContext) {
    const { informers, client, clock } = context;
    this.queue = newWorkQueue(context, "deployment");
    this.deployments = informers.of(deployments);
    this.sets = informers.of(replicaSets);
    this.pods = informers.of(podHandle);
    this.ownedSets = new OwnedObjects(this.sets);
    this.ownedPods = new OwnedObjects(this.pods);
    this.recorder = new CoreEventRecorder(context, component);
    const annotations = new DeploymentAnnotations(client.domain);
    this.dependencies = {
      client,
      clock,
      recorder: this.recorder,
      annotations,
      writtenDeployments: new WrittenObjects(this.deployments),
      writtenSets: new WrittenObjects(this.sets),
    };
  }

  async run(workers: number): Promise<void> {
    this.deployments.subscribe(({ object }) => this.queue.add(objectKey(object)));
    watchOwned({
      objects: this.sets,
      owners: this.deployments,
      kind: deployments.kind,
      matches: ({ spec }, labels) => {
        const selector = selectorOf(spec.selector);
        return !selector.empty && selector.matches(labels);
      },
      changed: (deployment) => this.queue.add(objectKey(deployment)),
    });
    this.pods.subscribe((change) => this.podChanged(change));
    const informers = [this.deployments, this.sets, this.pods];
    await Promise.all(informers.map((informer) => informer.untilSynced()));
    const work = (key: string) => this.sync(key);
    await Promise.all([this.recorder.run(), this.queue.run(work, { workers })]);
  }

  /** Enqueues a Deployment with strategy Recreate when its last old pod is deleted. */
  private podChanged({ type, object }: InformerEvent<Pod>): void {
    if (type !== "deleted") return;
    const owner = controllerOf(object);
    if (owner?.kind !== replicaSets.kind) return;
    const { namespace = "" } = object.metadata;
    const set = this.sets.get(`${namespace}/${owner.name}`);
    const controller = set?.metadata.uid === owner.uid ? controllerOf(set) : undefined;
    if (controller?.kind !== deployments.kind) return;
    const deployment = this.deployments.get(`${namespace}/${controller.name}`);
    if (deployment?.metadata.uid !== controller.uid) return;
    if (deployment.spec.strategy.type !== "Recreate") return;
    const sets = this.ownedSets.of(deployment);
    if (sets.every((each) => this.ownedPods.of(each).length === 0)) {
      this.queue.add(objectKey(deployment));
    }
  }

  private async sync(key: string): Promise<void> {
    const deployment = this.dependencies.writtenDeployments.latest(key);
    if (deployment === undefined) return;
    if (selectorOf(deployment.spec.selector).empty) return this.rejectSelector(deployment);
    try {
      const sync = new DeploymentSync(
        this.dependencies,
        deployment,
        await this.claimSets(deployment),
      );
      await this.reconcile(sync);
      this.requeueForDeadline(sync.deployment);
    } catch (error) {
      if (!isTerminating(error)) throw error;
    }
  }

  private async reconcile(sync: DeploymentSync): Promise<void> {
    const { metadata, spec } = sync.deployment;
    if (metadata.deletionTimestamp !== undefined) {
      await sync.syncRevision({ create: false });
      return writeCounts(sync);
    }
    await this.checkPausedConditions(sync);
    if (spec.paused === true) return scaleOnly(sync);
    const rollback = this.dependencies.annotations.rollbackOf(sync.deployment);
    if (rollback !== undefined) return rollBack(sync, rollback);
    if (isScaled(sync)) return scaleOnly(sync);
    if (spec.strategy.type === "RollingUpdate") return rollOut(sync);
    await recreate(sync, (set) => this.ownedPods.of(set));
  }

  private claimSets(deployment: Deployment): Promise<readonly ReplicaSet[]> {
    const selector = selectorOf(deployment.spec.selector);
    const candidates = this.ownedSets.candidates(deployment);
    const newest = candidates.map((set) => this.dependencies.writtenSets.newest(set));
    return claimObjects(newest, {
      client: this.context.client,
      resource: replicaSets,
      owner: deployment,
      ownerResource: deployments,
      matches: ({ metadata }) => selector.matches(metadata.labels ?? {}),
    });
  }

  /** Sets the reason of the condition Progressing on pause and resume, so that a pause misses no deadline. */
  private async checkPausedConditions(sync: DeploymentSync): Promise<void> {
    const { spec, status = {} } = sync.deployment;
    if (progressDeadline(sync.deployment) === undefined) return;
    const current = conditionOf(status.conditions, "Progressing");
    if (current?.reason === reasons.timedOut) return;
    const isPaused = spec.paused === true;
    if (isPaused === (current?.reason === reasons.paused)) return;
    const stated = isPaused
      ? progressing(reasons.paused, "Deployment is paused", "Unknown")
      : progressing(reasons.resumed, "Deployment is resumed", "Unknown");
    const conditions = withCondition(status.conditions, stated, sync.now);
    await sync.writeStatus({ ...status, conditions });
  }

  private async rejectSelector(deployment: Deployment): Promise<void> {
    const message = "This deployment is selecting all pods. A non-empty selector is required.";
    this.recorder.record(deployments, deployment, {
      type: "Warning",
      reason: "SelectingAll",
      message,
    });
    const { generation } = deployment.metadata;
    if (generation === undefined) return;
    const sync = new DeploymentSync(this.dependencies, deployment, []);
    await sync.writeStatus({ ...deployment.status, observedGeneration: generation });
  }

  /** Requeues the Deployment for when its progress deadline expires. */
  private requeueForDeadline(deployment: Deployment): void {
    const { metadata, spec, status = {} } = deployment;
    const deadline = progressDeadline(deployment);
    const condition = conditionOf(status.conditions, "Progressing");
    const isOver = metadata.deletionTimestamp !== undefined || spec.paused === true;
    if (isOver || deadline === undefined || condition === undefined) return;
    if (isComplete(deployment, status) || condition.reason === reasons.timedOut) return;
    const since = Date.parse(condition.lastUpdateTime ?? "");
    const leftMs = since + deadline * 1000 - this.context.clock.now();
    // Condition times are truncated to seconds.
    this.queue.addAfter(objectKey(deployment), Math.max(0, leftMs) + 1_000);
  }
}
