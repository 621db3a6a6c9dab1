import { type Informer, objectKey, RequeueAfter, type WorkQueue } from "#client";
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  type StorageClass,
  storageClasses,
} from "#kinds";
import { isAlreadyExists } from "#meta";
import { type StorageContext, sidecarQueue, sidecarWorkers } from "../context.ts";
import { cloneSource, ForeignDataSource } from "./data-source.ts";
import { callDriver, CsiError, driverName } from "../driver.ts";
import { newVolume, requestedSize, volumeNameFor } from "./new-volume.ts";
import type { StoragePool } from "./pool.ts";
import { type Topology, UnusableNode } from "../topology.ts";

export interface ProvisionerOptions {
  readonly context: StorageContext;
  readonly topology: Topology;
  readonly pool: StoragePool;
}

/** Largest number of the random part of a process's identity, as external-provisioner has it. */
const identities = 10_000;

/** Provisions volumes for claims of the simulated driver's classes, like external-provisioner. */
export class Provisioner {
  readonly claims: Informer<PersistentVolumeClaim>;
  readonly volumes: Informer<PersistentVolume>;
  private readonly classes: Informer<StorageClass>;
  private readonly queue: WorkQueue;
  private readonly identity: string;

  constructor(private readonly options: ProvisionerOptions) {
    const { context } = options;
    const { client, clock, informers, random } = context;
    this.claims = informers.of(persistentVolumeClaims);
    this.volumes = informers.of(persistentVolumes);
    this.classes = informers.of(storageClasses(client.domain));
    this.queue = sidecarQueue(context, "claims");
    this.identity = `${clock.now()}-${random.below(identities)}-${driverName}`;
  }

  /** Runs until the signal aborts. */
  async run(): Promise<void> {
    await Promise.all([
      this.claims.untilSynced(),
      this.volumes.untilSynced(),
      this.classes.untilSynced(),
      this.options.topology.untilSynced(),
    ]);
    const unsubscribe = this.claims.subscribe(({ type, object }) => {
      if (type !== "deleted" && this.isWaiting(object)) this.queue.add(objectKey(object));
    });
    await this.queue.run((key) => this.sync(key), { workers: sidecarWorkers });
    unsubscribe();
  }

  /** Whether the binder has requested a volume of this driver. */
  private isWaiting({ metadata: { annotations = {} }, spec }: PersistentVolumeClaim): boolean {
    const { names } = this.options.context;
    const asked = annotations[names.provisioner] ?? annotations[names.betaProvisioner];
    return asked === driverName && !spec?.volumeName;
  }

  private async sync(key: string): Promise<void> {
    const claim = this.claims.get(key);
    if (claim === undefined || !this.isWaiting(claim)) return;
    const { context } = this.options;
    const className = context.names.classOf(claim);
    const storageClass = this.classes.get(className);
    if (storageClass === undefined) throw new RequeueAfter(`no StorageClass ${className}`);
    const node = claim.metadata.annotations?.[context.names.selectedNode];
    const isDelayed = storageClass.volumeBindingMode === "WaitForFirstConsumer";
    if (storageClass.provisioner !== driverName || (isDelayed && !node)) return;
    if (this.volumes.get(volumeNameFor(claim)) !== undefined) return;
    const message = `External provisioner is provisioning volume for claim ${JSON.stringify(key)}`;
    context.recorder.record(persistentVolumeClaims, claim, {
      type: "Normal",
      reason: "Provisioning",
      message,
    });
    try {
      await this.provision(claim, storageClass, node);
    } catch (error) {
      if (!(error instanceof ForeignDataSource)) await this.fail(claim, error, node);
    }
  }

  private async provision(
    claim: PersistentVolumeClaim,
    storageClass: StorageClass,
    node: string | undefined,
  ): Promise<void> {
    const { context, topology, pool } = this.options;
    const { client, names } = context;
    if (claim.spec?.selector !== undefined) throw new Error("claim Selector is not supported");
    const source = cloneSource(claim, storageClass, this);
    if (source !== undefined) await this.protect(source);
    const zone = topology.choose(storageClass, { claim: objectKey(claim), node });
    const name = volumeNameFor(claim);
    await callDriver("provision", storageClass.parameters, context);
    pool.reserve(name, { storageClass, zone, size: requestedSize(claim) });
    const draft = newVolume({ claim, storageClass, zone, identity: this.identity, names });
    try {
      await client.create(persistentVolumes, draft);
    } catch (error) {
      if (!isAlreadyExists(error)) {
        pool.release(name);
        throw error;
      }
    }
    context.recorder.record(persistentVolumeClaims, claim, {
      type: "Normal",
      reason: "ProvisioningSucceeded",
      message: `Successfully provisioned volume ${name}`,
    });
  }

  /** Adds a finalizer to the source of a clone until the clone is created. */
  private async protect(source: PersistentVolumeClaim): Promise<void> {
    const { client, names } = this.options.context;
    const { metadata } = source;
    const { finalizers = [] } = metadata;
    if (finalizers.includes(names.cloningFinalizer)) return;
    const protectedMetadata = { ...metadata, finalizers: [...finalizers, names.cloningFinalizer] };
    await client.update(persistentVolumeClaims, { ...source, metadata: protectedMetadata });
  }

  /** Records a provisioning error. @throws to retry */
  private async fail(
    claim: PersistentVolumeClaim,
    error: unknown,
    node: string | undefined,
  ): Promise<void> {
    const { context } = this.options;
    const why = error instanceof Error ? error.message : String(error);
    const className = JSON.stringify(context.names.classOf(claim));
    const message = `failed to provision volume with StorageClass ${className}: ${why}`;
    context.recorder.record(persistentVolumeClaims, claim, {
      type: "Warning",
      reason: "ProvisioningFailed",
      message,
    });
    const isExhausted = error instanceof CsiError && error.code === "ResourceExhausted";
    if (node && (isExhausted || error instanceof UnusableNode)) return this.reschedule(claim);
    throw new RequeueAfter(message);
  }

  /** Removes the selected node, so that the scheduler selects another one. */
  private async reschedule(claim: PersistentVolumeClaim): Promise<void> {
    const { client, names } = this.options.context;
    const { [names.selectedNode]: _node, ...annotations } = claim.metadata.annotations ?? {};
    const draft = { ...claim, metadata: { ...claim.metadata, annotations } };
    await client.update(persistentVolumeClaims, draft);
  }
}
