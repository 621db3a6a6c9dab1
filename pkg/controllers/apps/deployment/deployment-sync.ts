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
import { maxSurge, newSetReplicas, progressDeadline, wantedReplicas } from "./rolling-limits.ts";

export interface DeploymentTools {
  readonly client: Client;
  readonly clock: Clock;
  readonly recorder: CoreEventRecorder;
  readonly annotations: DeploymentAnnotations;
  readonly writtenDeployments: WrittenObjects<Deployment>;
  readonly writtenSets: WrittenObjects<ReplicaSet>;
}

interface Noted {
  readonly revision: string;
  readonly reason: string;
  readonly message: string;
  /** Whether the condition Progressing is to say so. */
  readonly isNew: boolean;
}

/**
 * The writes of one sync of a Deployment. Each takes the newest version into account, so that the
 * next one does not conflict with it.
 */
export class DeploymentSync {
  constructor(
    private readonly tools: DeploymentTools,
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
    return this.tools.annotations;
  }

  get now(): number {
    return this.tools.clock.now();
  }

  record(type: "Normal" | "Warning", reason: string, message: string): void {
    this.tools.recorder.record(deployments, this.deployment, { type, reason, message });
  }

  /** Writes the status if it differs; answers whether it did. */
  async writeStatus(status: DeploymentStatus): Promise<boolean> {
    if (isSameStatus(this.deployment.status, status)) return false;
    await this.writeDeployment({ ...this.deployment, status }, "status");
    return true;
  }

  async writeDeployment(deployment: Deployment, subresource = ""): Promise<void> {
    const { client, writtenDeployments } = this.tools;
    this.deployment = await client.update(deployments, deployment, { subresource });
    writtenDeployments.add(this.deployment);
  }

  /**
   * Numbers the ReplicaSet of the current template as the newest revision, and the Deployment with it.
   * With `create` the ReplicaSet is made if it is missing.
   */
  async syncRevision({ create }: { readonly create: boolean }): Promise<void> {
    const { annotations } = this.tools;
    const { newSet, oldSets } = this.owned;
    const revisions = oldSets.map((set) => annotations.revisionOf(set) ?? 0n);
    const revision = revisions.reduce((most, each) => (each > most ? each : most), 0n) + 1n;
    if (newSet !== undefined) await this.adjustNewSet(newSet, revision);
    else if (create) await this.createNewSet(revision);
  }

  /** Changes the size of a ReplicaSet, with an Event; answers whether it changed. */
  async scaleSet(set: ReplicaSet, replicas: number): Promise<boolean> {
    const { spec } = this.deployment;
    const from = set.spec.replicas;
    const max = spec.replicas + maxSurge(this.deployment);
    const before = set.metadata.annotations ?? {};
    const sized = this.tools.annotations.withSizes(before, spec.replicas, max);
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
    await this.tools.client
      .delete(replicaSets, { namespace, name }, { preconditions: { uid } })
      .catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
  }

  private async writeSet(set: ReplicaSet): Promise<ReplicaSet> {
    const written = await this.tools.client.update(replicaSets, set);
    this.tools.writtenSets.add(written);
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

  private async adjustNewSet(set: ReplicaSet, revision: bigint): Promise<void> {
    const { annotations } = this.tools;
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
    await this.noteProgress({
      revision: current.metadata.annotations?.[annotations.revision] ?? "",
      reason: reasons.found,
      message: `Found new replica set ${goQuote(current.metadata.name)}`,
      isNew: conditionOf(this.deployment.status?.conditions, "Progressing") === undefined,
    });
  }

  /** Writes the revision of the new ReplicaSet and that there is progress, if it is news. */
  private async noteProgress({ revision, reason, message, isNew }: Noted): Promise<void> {
    const { metadata, status = {} } = this.deployment;
    const { revision: annotation } = this.tools.annotations;
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
    const { client } = this.tools;
    const draft = this.newSetDraft(revision);
    const { name } = draft.metadata;
    const { replicas } = draft.spec;
    let isNew = true;
    const set = await client.create(replicaSets, draft).catch((error: unknown) => {
      isNew = false;
      return this.afterFailedCreate(name, error);
    });
    this.sets = [...this.sets, set].sort(byCreation);
    if (isNew && replicas > 0) this.recordScaling("up", name, [0, replicas]);
    await this.noteProgress({
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
    const replicas = newSetReplicas(deployment, 0, wantedReplicas(allSets(this.owned)));
    const { annotations } = this.tools;
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
   * The ReplicaSet of that name if it is the Deployment's own, which its cache did not show yet.
   * @throws the error, after the status says what is to be tried next or why it failed
   */
  private async afterFailedCreate(name: string, error: unknown): Promise<ReplicaSet> {
    const { namespace = "" } = this.deployment.metadata;
    if (isTerminating(error)) throw error;
    if (statusCodeOf(error) === 409) {
      const found = await this.tools.client.get(replicaSets, { namespace, name });
      const { template } = this.deployment.spec;
      if (isControlledBy(found, this.deployment) && isSameTemplate(found.spec.template, template)) {
        return found;
      }
      const { status = {} } = this.deployment;
      await this.writeStatus({ ...status, collisionCount: (status.collisionCount ?? 0) + 1 });
      throw error;
    }
    const { message: why } = error as Error;
    const message = `Failed to create new replica set ${goQuote(name)}: ${why}`;
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
