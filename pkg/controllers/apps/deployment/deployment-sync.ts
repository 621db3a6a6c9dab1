import { type Clock, deepEqual } from "#base";
import type { Client, CoreEventRecorder } from "#client";
import {
  type Deployment,
  deployments,
  type DeploymentStatus,
  type ReplicaSet,
  replicaSets,
} from "#kinds";
import { goQuote, isNotFound } from "#meta";
import { statusCodeOf, isTerminating } from "../../controller-context.ts";
import { controllerRef, isControlledBy } from "../../owners/controller-ref.ts";
import { podTemplateHash } from "../../pods/template-hash.ts";
import type { WrittenObjects } from "../../written-objects.ts";
import type { DeploymentAnnotations } from "./deployment-annotations.ts";
import { conditionOf, progressing, reasons, withCondition } from "./deployment-conditions.ts";
import { allSets, isSameStatus, type OwnedSets } from "./deployment-status.ts";
import { byCreation, isSameTemplate, setName, setSelector, setTemplate } from "./replica-sets.ts";
import { maxSurge, newSetReplicas, progressDeadline, desiredReplicas } from "./rolling-limits.ts";

export interface DeploymentDependencies {
  readonly client: Client;
  readonly clock: Clock;
  readonly recorder: CoreEventRecorder;
  readonly annotations: DeploymentAnnotations;
  readonly writtenDeployments: WrittenObjects<Deployment>;
  readonly writtenSets: WrittenObjects<ReplicaSet>;
}

interface RevisionProgress {
  readonly revision: string;
  readonly reason: string;
  readonly message: string;
  /** Whether to update the condition Progressing. */
  readonly isNew: boolean;
}

/**
 * Writes of one sync of a Deployment. Each updates the objects held here with its response, so that the
 * next write does not conflict.
 */
export class DeploymentSync {
  constructor(
    private readonly dependencies: DeploymentDependencies,
    public deployment: Deployment,
    private sets: readonly ReplicaSet[],
  ) {
    this.sets = sets.toSorted(byCreation);
  }

  get owned(): OwnedSets {
    const { template } = this.deployment.spec;
    const newSet = this.sets.find(({ spec }) => isSameTemplate(spec.template, template));
    return { newSet, oldSets: this.sets.filter((each) => each !== newSet) };
  }

  get annotations(): DeploymentAnnotations {
    return this.dependencies.annotations;
  }

  get now(): number {
    return this.dependencies.clock.now();
  }

  record(type: "Normal" | "Warning", reason: string, message: string): void {
    this.dependencies.recorder.record(deployments, this.deployment, { type, reason, message });
  }

  /** Writes the status if it changed; returns whether it did. */
  async writeStatus(status: DeploymentStatus): Promise<boolean> {
    if (isSameStatus(this.deployment.status, status)) return false;
    await this.writeDeployment({ ...this.deployment, status }, "status");
    return true;
  }

  async writeDeployment(deployment: Deployment, subresource = ""): Promise<void> {
    const { client, writtenDeployments } = this.dependencies;
    this.deployment = await client.update(deployments, deployment, { subresource });
    writtenDeployments.add(this.deployment);
  }

  /**
   * Sets the newest revision on the ReplicaSet of the current template and on the Deployment; creates a
   * missing ReplicaSet if `create`.
   */
  async syncRevision({ create }: { readonly create: boolean }): Promise<void> {
    const { annotations } = this.dependencies;
    const { newSet, oldSets } = this.owned;
    const revisions = oldSets.map((set) => annotations.revisionOf(set) ?? 0n);
    const revision = revisions.reduce((most, each) => (each > most ? each : most), 0n) + 1n;
    if (newSet !== undefined) await this.updateNewSet(newSet, revision);
    else if (create) await this.createNewSet(revision);
  }

  /** Scales a ReplicaSet and records the Event; returns whether its size changed. */
  async scaleSet(set: ReplicaSet, replicas: number): Promise<boolean> {
    const { spec } = this.deployment;
    const from = set.spec.replicas;
    const max = spec.replicas + maxSurge(this.deployment);
    const before = set.metadata.annotations ?? {};
    const sized = this.dependencies.annotations.withSizes(before, spec.replicas, max);
    if (from === replicas && deepEqual(before, sized)) return false;
    await this.writeSet({
      ...set,
      metadata: { ...set.metadata, annotations: sized },
      spec: { ...set.spec, replicas },
    });
    if (from === replicas) return false;
    this.recordScaling(from < replicas ? "up" : "down", set.metadata.name, [from, replicas]);
    return true;
  }

  async deleteSet({ metadata }: ReplicaSet): Promise<void> {
    const { namespace = "", name, uid } = metadata;
    await this.dependencies.client
      .delete(replicaSets, { namespace, name }, { preconditions: { uid } })
      .catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
  }

  private async writeSet(set: ReplicaSet): Promise<ReplicaSet> {
    const written = await this.dependencies.client.update(replicaSets, set);
    this.dependencies.writtenSets.add(written);
    const { uid } = written.metadata;
    this.sets = this.sets.map((each) => (each.metadata.uid === uid ? written : each));
    return written;
  }

  private recordScaling(
    direction: "up" | "down",
    name: string,
    [from, to]: readonly [number, number],
  ): void {
    const message = `Scaled ${direction} replica set ${name} from ${from} to ${to}`;
    this.record("Normal", "ScalingReplicaSet", message);
  }

  private async updateNewSet(set: ReplicaSet, revision: bigint): Promise<void> {
    const { annotations } = this.dependencies;
    const { minReadySeconds = 0 } = this.deployment.spec;
    const before = set.metadata.annotations ?? {};
    const wanted = annotations.forNewSet(this.deployment, before, revision);
    const isCurrent =
      deepEqual(before, wanted) && (set.spec.minReadySeconds ?? 0) === minReadySeconds;
    const current = isCurrent
      ? set
      : await this.writeSet({
          ...set,
          metadata: { ...set.metadata, annotations: wanted },
          spec: { ...set.spec, minReadySeconds },
        });
    await this.recordProgress({
      revision: current.metadata.annotations?.[annotations.revision] ?? "",
      reason: reasons.found,
      message: `Found new replica set ${goQuote(current.metadata.name)}`,
      isNew: conditionOf(this.deployment.status?.conditions, "Progressing") === undefined,
    });
  }

  /** Writes revision and condition Progressing to the Deployment if they changed. */
  private async recordProgress({
    revision,
    reason,
    message,
    isNew,
  }: RevisionProgress): Promise<void> {
    const { metadata, status = {} } = this.deployment;
    const { revision: annotation } = this.dependencies.annotations;
    const hasRevision = metadata.annotations?.[annotation] === revision;
    const isProgress = isNew && progressDeadline(this.deployment) !== undefined;
    if (hasRevision && !isProgress) return;
    const conditions = isProgress
      ? withCondition(status.conditions, progressing(reason, message), this.now)
      : status.conditions;
    await this.writeDeployment(
      {
        ...this.deployment,
        metadata: { ...metadata, annotations: { ...metadata.annotations, [annotation]: revision } },
        status: { ...status, ...(conditions === undefined ? {} : { conditions }) },
      },
      "status",
    );
  }

  private async createNewSet(revision: bigint): Promise<void> {
    const { client } = this.dependencies;
    const draft = this.newSetDraft(revision);
    const { name } = draft.metadata;
    const { replicas } = draft.spec;
    let isNew = true;
    const set = await client.create(replicaSets, draft).catch((error: unknown) => {
      isNew = false;
      return this.handleCreateError(name, error);
    });
    this.sets = [...this.sets, set].sort(byCreation);
    if (isNew && replicas > 0) this.recordScaling("up", name, [0, replicas]);
    await this.recordProgress({
      revision: String(revision),
      reason: reasons.created,
      message: `Created new replica set ${goQuote(name)}`,
      isNew,
    });
  }

  private newSetDraft(revision: bigint) {
    const { deployment } = this;
    const { metadata, spec, status } = deployment;
    const hash = podTemplateHash(spec.template, status?.collisionCount);
    const template = setTemplate(spec.template, hash);
    const replicas = newSetReplicas(deployment, 0, desiredReplicas(allSets(this.owned)));
    const { annotations } = this.dependencies;
    const max = spec.replicas + maxSurge(deployment);
    const revised = annotations.forNewSet(deployment, {}, revision);
    return {
      metadata: {
        namespace: metadata.namespace ?? "",
        name: setName(metadata.name, hash),
        labels: template.metadata?.labels ?? {},
        annotations: annotations.withSizes(revised, spec.replicas, max),
        ownerReferences: [controllerRef(deployments, deployment)],
      },
      spec: {
        replicas,
        minReadySeconds: spec.minReadySeconds ?? 0,
        selector: setSelector(spec.selector, hash),
        template,
      },
    };
  }

  /**
   * On a 409, returns the existing ReplicaSet if it is the Deployment's own (the cache was stale); else
   * increments the collision count.
   * @throws the error, after the status has been updated
   */
  private async handleCreateError(name: string, error: unknown): Promise<ReplicaSet> {
    const { namespace = "" } = this.deployment.metadata;
    if (isTerminating(error)) throw error;
    if (statusCodeOf(error) === 409) {
      const found = await this.dependencies.client.get(replicaSets, { namespace, name });
      const { template } = this.deployment.spec;
      if (isControlledBy(found, this.deployment) && isSameTemplate(found.spec.template, template)) {
        return found;
      }
      const { status = {} } = this.deployment;
      await this.writeStatus({ ...status, collisionCount: (status.collisionCount ?? 0) + 1 });
      throw error;
    }
    const reason = (error as Error).message;
    const message = `Failed to create new replica set ${goQuote(name)}: ${reason}`;
    this.record("Warning", reasons.createFailed, message);
    if (progressDeadline(this.deployment) !== undefined) {
      const { status = {} } = this.deployment;
      const stated = progressing(reasons.createFailed, message, "False");
      const conditions = withCondition(status.conditions, stated, this.now);
      await this.writeStatus({ ...status, conditions });
    }
    throw error;
  }
}
