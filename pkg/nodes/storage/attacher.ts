import { type Informer, RequeueAfter, type WorkQueue } from "#client";
import {
  type PersistentVolume,
  persistentVolumes,
  type VolumeAttachment,
  volumeAttachments,
} from "#kinds";
import { ignoreNotFound, isConflict } from "#meta";
import { timeText } from "../identifiers.ts";
import { type StorageContext, sidecarQueue, sidecarWorkers } from "./context.ts";
import { callDriver, driverName } from "./driver.ts";
import { setFinalizer } from "./finalizers.ts";
import type { Topology } from "./topology.ts";

/** Attaches volumes of the simulated driver to nodes, like external-attacher. */
export class Attacher {
  private readonly attachments: Informer<VolumeAttachment>;
  private readonly volumes: Informer<PersistentVolume>;
  private readonly queue: WorkQueue;
  private readonly volumeQueue: WorkQueue;
  private readonly resource;

  constructor(
    private readonly context: StorageContext,
    private readonly topology: Topology,
  ) {
    const { client, informers } = context;
    this.resource = volumeAttachments(client.domain);
    this.attachments = informers.of(this.resource);
    this.volumes = informers.of(persistentVolumes);
    this.queue = sidecarQueue(context, "attachments");
    this.volumeQueue = sidecarQueue(context, "attached_volumes");
  }

  /** Runs until the signal aborts. */
  async run(): Promise<void> {
    const { attachments, volumes, topology } = this;
    const all = [attachments.untilSynced(), volumes.untilSynced(), topology.untilSynced()];
    await Promise.all(all);
    attachments.subscribe(({ type, object: { metadata, spec } }) => {
      if (spec.attacher !== driverName) return;
      if (type !== "deleted") this.queue.add(metadata.name);
      else this.volumeQueue.add(spec.source.persistentVolumeName ?? "");
    });
    volumes.subscribe(({ type, object: { metadata } }) => {
      const isDeleted = metadata.deletionTimestamp !== undefined;
      if (type !== "deleted" && isDeleted) this.volumeQueue.add(metadata.name);
    });
    await Promise.all([
      this.queue.run((name) => this.sync(name), { workers: sidecarWorkers }),
      this.volumeQueue.run((name) => this.releaseVolume(name)),
    ]);
  }

  private async sync(name: string): Promise<void> {
    const attachment = this.attachments.get(name);
    if (attachment?.spec.attacher !== driverName) return;
    const isDeleted = attachment.metadata.deletionTimestamp !== undefined;
    if (!isDeleted && attachment.status?.attached === true) return;
    try {
      await (isDeleted ? this.detach(attachment) : this.attach(attachment));
    } catch (error) {
      if (this.context.signal.aborted || isConflict(error)) throw error;
      const message = error instanceof Error ? error.message : String(error);
      const time = timeText(this.context.clock.now());
      const field = isDeleted ? "detachError" : "attachError";
      await this.setStatus(attachment, { [field]: { message, time } });
      throw new RequeueAfter(message);
    }
  }

  private async attach(attachment: VolumeAttachment): Promise<void> {
    const { client, names } = this.context;
    const { nodeName, source } = attachment.spec;
    const { persistentVolumeName: volumeName = "" } = source;
    const volume = this.volumes.get(volumeName);
    if (volume === undefined) {
      throw new Error(`persistentvolume ${JSON.stringify(volumeName)} not found`);
    }
    if (volume.metadata.deletionTimestamp !== undefined) {
      throw new Error(`PersistentVolume ${JSON.stringify(volumeName)} is marked for deletion`);
    }
    const finalizer = names.attacherFinalizer;
    const target = { resource: persistentVolumes, object: volume };
    await setFinalizer(client, target, { finalizer, isSet: true });
    const nodeId = this.topology.nodeId(nodeName);
    if (nodeId === undefined) {
      throw new Error(`CSINode ${nodeName} does not contain driver ${driverName}`);
    }
    await this.prepare(attachment, nodeId);
    await callDriver("attach", volume.spec?.csi?.volumeAttributes, this.context);
    await this.setStatus(attachment, { attached: true, attachError: null });
  }

  /** Adds the finalizer: the driver must detach the volume before the attachment is deleted. */
  private async prepare({ metadata }: VolumeAttachment, nodeId: string): Promise<void> {
    const { client, names } = this.context;
    const { name, uid, resourceVersion, finalizers = [], annotations = {} } = metadata;
    const finalizer = names.attacherFinalizer;
    const isMarked = finalizers.includes(finalizer) && annotations[names.nodeId] === nodeId;
    if (isMarked) return;
    const marks = {
      annotations: { [names.nodeId]: nodeId },
      finalizers: [...new Set([...finalizers, finalizer])],
    };
    const body = { metadata: { uid, resourceVersion, ...marks } };
    await client.patch(this.resource, { name }, { type: "merge", body });
  }

  private async detach(attachment: VolumeAttachment): Promise<void> {
    const finalizer = this.context.names.attacherFinalizer;
    if (attachment.metadata.finalizers?.includes(finalizer) !== true) return;
    const { persistentVolumeName = "" } = attachment.spec.source;
    const attributes = this.volumes.get(persistentVolumeName)?.spec?.csi?.volumeAttributes;
    await callDriver("detach", attributes, this.context);
    const target = { resource: this.resource, object: attachment };
    await setFinalizer(this.context.client, target, { finalizer, isSet: false });
  }

  private async setStatus({ metadata }: VolumeAttachment, status: object): Promise<void> {
    const { name, uid } = metadata;
    const at = { name, subresource: "status" };
    const body = { metadata: { uid }, status };
    await this.context.client
      .patch(this.resource, at, { type: "merge", body })
      .catch(ignoreNotFound);
  }

  /** Removes the finalizer of a deleted volume once no node has it attached. */
  private async releaseVolume(name: string): Promise<void> {
    const volume = this.volumes.get(name);
    if (volume?.metadata.deletionTimestamp === undefined) return;
    for (const { spec } of this.attachments.all()) {
      if (spec.source.persistentVolumeName === name) return;
    }
    const finalizer = this.context.names.attacherFinalizer;
    const target = { resource: persistentVolumes, object: volume };
    await setFinalizer(this.context.client, target, { finalizer, isSet: false });
  }
}
