import { deepEqual, setBounded } from "#base";
import { type Handle, type Informer, CoreEventRecorder } from "#client";
import {
  attachmentName,
  type Node,
  nodes as nodeHandle,
  type Pod,
  pods as podHandle,
  uniqueVolumeName,
  type VolumeAttachment,
  volumeAttachments,
} from "#kinds";
import { ignoreNotFound, resolve } from "#meta";
import { type ControllerContext, newWorkQueue, statusCodeOf } from "../../controller-context.ts";
import { podsByNode, podsOn } from "../../node/pods-by-node.ts";
import { allowsManyNodes, AttachableVolumes, type NeededVolume } from "./attachable-volumes.ts";

export interface AttachDetachOptions {
  /** Whether volumes stay attached to unhealthy nodes until these report them unmounted. */
  readonly disableForceDetach: boolean;
}

/** Events that are remembered; older ones may be recorded once more. */
const mostTold = 4_096;

const workers = 10;
/** Time after which a volume is detached from an unhealthy node that still reports it in use. */
const forceDetachMs = 360_000;
/** Period between two looks at what waits: for a claim to be bound, a node to unmount. */
const recheckMs = 2_000;
const index = "node";

/**
 * Attaches the CSI volumes of pods to their nodes by VolumeAttachments, detaches those that no pod
 * of a node uses, and lists the attached ones in the status of the node.
 */
export async function runAttachDetachController(
  context: ControllerContext,
  options: AttachDetachOptions,
): Promise<void> {
  const { informers, client } = context;
  const queue = newWorkQueue(context, "attach_detach");
  const recorder = new CoreEventRecorder(context, "attachdetach-controller");
  const pods = podsByNode(informers);
  const nodes = informers.of(nodeHandle);
  const attachments = informers.of(volumeAttachments(client.domain));
  attachments.addIndex(index, ({ spec }) => [spec.nodeName]);
  pods.subscribe(({ object }) => {
    if (object.spec?.nodeName) queue.add(object.spec.nodeName);
  });
  const sync = new NodeVolumes(context, recorder, options);
  nodes.subscribe(({ type, object }) => {
    if (type === "deleted") sync.nodeDeleted(object);
    queue.add(object.metadata.name);
  });
  attachments.subscribe(({ object }) => queue.add(object.spec.nodeName));
  const all = [pods.untilSynced(), nodes.untilSynced(), attachments.untilSynced()];
  await Promise.all([...all, sync.untilSynced()]);
  const work = async (name: string) => {
    if (await sync.sync(name)) queue.addAfter(name, recheckMs);
  };
  await Promise.all([recorder.run(), queue.run(work, { workers })]);
}

class NodeVolumes {
  private readonly handle: Handle<VolumeAttachment>;
  private readonly attachments: Informer<VolumeAttachment>;
  private readonly nodes: Informer<Node>;
  private readonly pods: Informer<Pod>;
  private readonly volumes: AttachableVolumes;
  private readonly managed: string;
  private readonly outOfService: string;
  /** Time since which a volume is not needed, by name of its VolumeAttachment. */
  private readonly unneededSince = new Map<string, number>();
  /** Volumes that deleted nodes reported in use at last, while VolumeAttachments to them remain. */
  private readonly inUseOfDeleted = new Map<string, readonly string[]>();
  /** Names of the VolumeAttachments that this process has made, for those whose volume is gone. */
  private readonly made = new Map<string, true>();
  /** What Events were recorded about: UIDs of VolumeAttachments, pods with their volumes. */
  private readonly told = new Map<string, true>();

  constructor(
    private readonly context: ControllerContext,
    private readonly recorder: CoreEventRecorder,
    private readonly options: AttachDetachOptions,
  ) {
    const { client, informers } = context;
    this.handle = volumeAttachments(client.domain);
    this.attachments = informers.of(this.handle);
    this.nodes = informers.of(nodeHandle);
    this.pods = podsByNode(informers);
    this.volumes = new AttachableVolumes(context);
    this.managed = resolve("volumes.{label}/controller-managed-attach-detach", client.domain);
    this.outOfService = resolve("node.{label}/out-of-service", client.domain);
  }

  untilSynced(): Promise<void> {
    return this.volumes.untilSynced();
  }

  /** Keeps what a deleted node reported in use: its machine may still have the volumes mounted. */
  nodeDeleted({ metadata: { name }, status }: Node): void {
    if (this.attachments.indexed(index, name).length === 0) return;
    this.inUseOfDeleted.set(name, status?.volumesInUse ?? []);
  }

  /** Answers whether the node is to be looked at again soon. */
  async sync(name: string): Promise<boolean> {
    const node = this.nodes.get(name);
    if (node !== undefined) this.inUseOfDeleted.delete(name);
    const isManaged = node?.metadata.annotations?.[this.managed] === "true";
    const present = this.attachments.indexed(index, name).filter((each) => this.isOwn(each));
    if (node !== undefined && !isManaged) return false;
    if (node === undefined && present.length === 0) this.inUseOfDeleted.delete(name);
    const pods = podsOn(this.pods, name);
    const needed = this.volumes.neededBy(pods);
    const kept: VolumeAttachment[] = [];
    const unneeded: VolumeAttachment[] = [];
    for (const attachment of present) {
      const { persistentVolumeName = "" } = attachment.spec.source;
      const isNeeded = needed.has(persistentVolumeName);
      if (isNeeded) this.unneededSince.delete(attachment.metadata.name);
      const isKept = isNeeded || this.isStillUsed(node, attachment);
      (isKept ? kept : unneeded).push(attachment);
    }
    // A node hears that a volume goes before it is detached.
    if (node !== undefined) await this.setAttached(node, kept);
    for (const attachment of unneeded) await this.detach(attachment);
    for (const attachment of kept) {
      this.tellIfAttached(attachment, needed);
      this.tellIfFailed(attachment, needed);
    }
    // A deleted node keeps the volumes of its pods, and gets no others.
    if (node === undefined) return kept.length > 0;
    const presentNames = new Set(present.map(({ metadata }) => metadata.name));
    let isWaiting = kept.some(({ metadata }) => this.unneededSince.has(metadata.name));
    for (const volume of needed.values()) {
      const attachment = attachmentName(volume.driver, volume.handle, name);
      if (presentNames.has(attachment)) continue;
      if (!(await this.attach(attachment, name, volume))) isWaiting = true;
    }
    return isWaiting || pods.some((pod) => this.hasUnbound(pod, needed));
  }

  /** Whether an attachment is one of this controller, which leaves those of others alone. */
  private isOwn({ metadata, spec }: VolumeAttachment): boolean {
    const { csi } = this.volumes.volume(spec.source.persistentVolumeName ?? "")?.spec ?? {};
    if (csi === undefined) return this.made.has(metadata.name);
    return metadata.name === attachmentName(csi.driver, csi.volumeHandle, spec.nodeName);
  }

  /** Whether claims of a pod may still be bound. */
  private hasUnbound(pod: Pod, needed: ReadonlyMap<string, NeededVolume>): boolean {
    if (pod.status?.phase !== "Pending") return false;
    const claims = (pod.spec?.volumes ?? []).filter(
      ({ persistentVolumeClaim, ephemeral }) => persistentVolumeClaim ?? ephemeral,
    );
    const bound = [...needed.values()].filter(({ pods }) => pods.includes(pod));
    return claims.length > bound.length;
  }

  /** Whether an unneeded volume must stay until the node has unmounted it. */
  private isStillUsed(node: Node | undefined, attachment: VolumeAttachment): boolean {
    const { name } = attachment.metadata;
    const now = this.context.clock.now();
    const since = this.unneededSince.get(name) ?? now;
    this.unneededSince.set(name, since);
    if (this.isOutOfService(node) || !this.isInUse(node, attachment)) return false;
    const conditions = node?.status?.conditions ?? [];
    const isReady = conditions.some(({ type, status }) => type === "Ready" && status === "True");
    const isForced = !isReady && !this.options.disableForceDetach && now - since > forceDetachMs;
    return !isForced;
  }

  private isOutOfService(node: Node | undefined): boolean {
    const { taints = [] } = node?.spec ?? {};
    return taints.some(({ key, effect }) => key === this.outOfService && effect === "NoExecute");
  }

  /**
   * Whether the node reports that it uses the volume. A deleted node counts as it reported last, or as
   * using all volumes if this process has not seen it.
   */
  private isInUse(node: Node | undefined, attachment: VolumeAttachment): boolean {
    const uniqueName = this.uniqueNameOf(attachment);
    if (uniqueName === undefined) return false;
    const { nodeName } = attachment.spec;
    const volumesInUse =
      node === undefined ? this.inUseOfDeleted.get(nodeName) : (node.status?.volumesInUse ?? []);
    return volumesInUse?.includes(uniqueName) ?? true;
  }

  private uniqueNameOf({ spec }: VolumeAttachment): string | undefined {
    const volume = this.volumes.volume(spec.source.persistentVolumeName ?? "");
    const { csi } = volume?.spec ?? {};
    return csi && uniqueVolumeName(csi.driver, csi.volumeHandle, this.context.client.domain);
  }

  private async setAttached(node: Node, kept: readonly VolumeAttachment[]): Promise<void> {
    const names = kept
      .filter(({ status }) => status?.attached === true)
      .flatMap((attachment) => this.uniqueNameOf(attachment) ?? []);
    const volumesAttached = names.sort().map((name) => ({ name, devicePath: "" }));
    const before = node.status?.volumesAttached ?? [];
    if (deepEqual(before.map(({ name }) => name).sort(), names)) return;
    const { name, uid } = node.metadata;
    const status = { volumesAttached: volumesAttached.length === 0 ? null : volumesAttached };
    const body = { metadata: { uid }, status };
    const at = { name, subresource: "status" };
    await this.context.client.patch(nodeHandle, at, { type: "merge", body });
  }

  private tellIfAttached(
    { metadata, spec, status }: VolumeAttachment,
    needed: ReadonlyMap<string, NeededVolume>,
  ): void {
    if (status?.attached !== true || this.told.has(metadata.uid)) return;
    setBounded(this.told, [metadata.uid, true], mostTold);
    const { persistentVolumeName = "" } = spec.source;
    const message = `AttachVolume.Attach succeeded for volume ${JSON.stringify(persistentVolumeName)} `;
    for (const pod of needed.get(persistentVolumeName)?.pods ?? []) {
      const reason = "SuccessfulAttachVolume";
      this.recorder.record(podHandle, pod, { type: "Normal", reason, message });
    }
  }

  private tellIfFailed(
    { metadata, spec, status }: VolumeAttachment,
    needed: ReadonlyMap<string, NeededVolume>,
  ): void {
    const why = status?.attached === true ? undefined : status?.attachError?.message;
    const key = `${metadata.uid} ${why}`;
    if (why === undefined || this.told.has(key)) return;
    setBounded(this.told, [key, true], mostTold);
    const { persistentVolumeName = "" } = spec.source;
    const volume = JSON.stringify(persistentVolumeName);
    const message = `AttachVolume.Attach failed for volume ${volume} : ${why}`;
    for (const pod of needed.get(persistentVolumeName)?.pods ?? []) {
      const reason = "FailedAttachVolume";
      this.recorder.record(podHandle, pod, { type: "Warning", reason, message });
    }
  }

  private async detach({ metadata: { name, uid } }: VolumeAttachment): Promise<void> {
    const options = { preconditions: { uid } };
    await this.context.client.delete(this.handle, { name }, options).catch(ignoreNotFound);
    this.unneededSince.delete(name);
    this.made.delete(name);
    this.told.delete(uid);
  }

  /** Answers false for a volume that another node holds. */
  private async attach(name: string, node: string, needed: NeededVolume): Promise<boolean> {
    const { volume, driver, pods } = needed;
    const persistentVolumeName = volume.metadata.name;
    const isHeld = [...this.attachments.all()].some(
      ({ spec }) =>
        spec.source.persistentVolumeName === persistentVolumeName && spec.nodeName !== node,
    );
    if (isHeld && !allowsManyNodes(volume)) {
      for (const pod of pods) this.tellOfMultiAttach(pod, persistentVolumeName);
      return false;
    }
    const spec = { attacher: driver, nodeName: node, source: { persistentVolumeName } };
    setBounded(this.made, [name, true], mostTold);
    try {
      await this.context.client.create(this.handle, { metadata: { name }, spec });
    } catch (error) {
      // The informer will show the one that is there.
      if (statusCodeOf(error) !== 409) throw error;
    }
    return true;
  }

  private tellOfMultiAttach(pod: Pod, volume: string): void {
    const key = `${pod.metadata.uid} ${volume}`;
    if (this.told.has(key)) return;
    setBounded(this.told, [key, true], mostTold);
    const message =
      `Multi-Attach error for volume ${JSON.stringify(volume)} Volume is already exclusively ` +
      "attached to one node and can't be attached to another";
    const reason = "FailedAttachVolume";
    this.recorder.record(podHandle, pod, { type: "Warning", reason, message });
  }
}
