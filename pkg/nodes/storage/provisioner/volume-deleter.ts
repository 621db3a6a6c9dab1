import { type Informer, RequeueAfter, type WorkQueue } from "#client";
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  type VolumeAttachment,
  volumeAttachments,
} from "#kinds";
import { ignoreNotFound } from "#meta";
import { type StorageContext, sidecarQueue, sidecarWorkers } from "../context.ts";
import { callDriver, driverName } from "../driver.ts";
import { setFinalizer } from "../finalizers.ts";

/** Deletes released volumes of the simulated driver, like external-provisioner. */
export class VolumeDeleter {
  private readonly claims: Informer<PersistentVolumeClaim>;
  private readonly volumes: Informer<PersistentVolume>;
  private readonly attachments: Informer<VolumeAttachment>;
  private readonly queue: WorkQueue;
  private readonly cloneQueue: WorkQueue;

  constructor(private readonly context: StorageContext) {
    const { client, informers } = context;
    this.claims = informers.of(persistentVolumeClaims);
    this.volumes = informers.of(persistentVolumes);
    this.attachments = informers.of(volumeAttachments(client.domain));
    this.queue = sidecarQueue(context, "volumes");
    this.cloneQueue = sidecarQueue(context, "clones");
  }

  /** Runs until the signal aborts. */
  async run(): Promise<void> {
    const { claims, volumes, attachments } = this;
    const all = [claims.untilSynced(), volumes.untilSynced(), attachments.untilSynced()];
    await Promise.all(all);
    volumes.subscribe(({ type, object }) => {
      if (type !== "deleted" && this.isOwn(object)) this.queue.add(object.metadata.name);
    });
    attachments.subscribe(({ type, object }) => {
      const { persistentVolumeName } = object.spec.source;
      if (type === "deleted" && persistentVolumeName) this.queue.add(persistentVolumeName);
    });
    claims.subscribe(({ object: { metadata, spec } }) => {
      const { namespace, name, finalizers = [] } = metadata;
      if (finalizers.includes(this.context.names.cloningFinalizer)) {
        this.cloneQueue.add(`${namespace}/${name}`);
      }
      const { kind, name: source } = spec?.dataSource ?? {};
      if (kind === "PersistentVolumeClaim") this.cloneQueue.add(`${namespace}/${source}`);
    });
    await Promise.all([
      this.queue.run((name) => this.sync(name), { workers: sidecarWorkers }),
      this.cloneQueue.run((key) => this.releaseSource(key)),
    ]);
  }

  private isOwn({ metadata: { annotations = {} }, spec }: PersistentVolume): boolean {
    return (annotations[this.context.names.provisionedBy] ?? spec?.csi?.driver) === driverName;
  }

  private async sync(name: string): Promise<void> {
    const { client, names } = this.context;
    const shown = this.volumes.get(name);
    if (shown === undefined || !this.isOwn(shown)) return;
    const finalizer = names.provisionerFinalizer;
    const { deletionTimestamp, finalizers = [] } = shown.metadata;
    const isDeleted = shown.spec?.persistentVolumeReclaimPolicy === "Delete";
    const isBound = shown.status?.phase === "Bound" && deletionTimestamp === undefined;
    const isSet = isDeleted && (isBound || finalizers.includes(finalizer));
    const target = { resource: persistentVolumes, object: shown };
    const volume = await setFinalizer(client, target, { finalizer, isSet });
    if (!isDeleted || volume?.status?.phase !== "Released") return;
    const isDone = deletionTimestamp !== undefined && !finalizers.includes(finalizer);
    if (!isDone) await this.delete(volume);
  }

  private async delete(volume: PersistentVolume): Promise<void> {
    const { client, names, recorder } = this.context;
    const { name, uid } = volume.metadata;
    try {
      this.refuseAttached(name);
      await callDriver("delete", volume.spec?.csi?.volumeAttributes, this.context);
    } catch (error) {
      if (this.context.signal.aborted) throw error;
      const message = error instanceof Error ? error.message : String(error);
      const reason = "VolumeFailedDelete";
      recorder.record(persistentVolumes, volume, { type: "Warning", reason, message });
      throw new RequeueAfter(message);
    }
    await client
      .delete(persistentVolumes, { name }, { preconditions: { uid } })
      .catch(ignoreNotFound);
    const object = await client.get(persistentVolumes, { name }).catch(ignoreNotFound);
    if (object?.metadata.uid !== uid) return;
    const finalizer = names.provisionerFinalizer;
    const target = { resource: persistentVolumes, object };
    await setFinalizer(client, target, { finalizer, isSet: false });
  }

  /** @throws Error if the volume is still attached to a node */
  private refuseAttached(volume: string): void {
    for (const { spec } of this.attachments.all()) {
      if (spec.source.persistentVolumeName !== volume) continue;
      throw new Error(`persistentvolume ${volume} is still attached to node ${spec.nodeName}`);
    }
  }

  /** Removes the finalizer of a clone source once no clone of it is in progress. */
  private async releaseSource(key: string): Promise<void> {
    const source = this.claims.get(key);
    const finalizer = this.context.names.cloningFinalizer;
    if (source?.metadata.finalizers?.includes(finalizer) !== true) return;
    const { namespace, name } = source.metadata;
    for (const { metadata, spec, status } of this.claims.all()) {
      const { kind, name: cloned } = spec?.dataSource ?? {};
      if (metadata.namespace !== namespace || kind !== "PersistentVolumeClaim") continue;
      if (cloned === name && status?.phase === "Pending") return;
    }
    const target = { resource: persistentVolumeClaims, object: source };
    await setFinalizer(this.context.client, target, { finalizer, isSet: false });
  }
}
