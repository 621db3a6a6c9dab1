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

/** Size limit of the set of recorded Events; evicted ones may be recorded again. */
const maxRecorded = 4_096;

const workers = 10;
/** Time after which a volume is detached from an unhealthy node that still reports it in use. */
const forceDetachMs = 360_000;
/** Interval of retries while a claim is unbound or a node has not unmounted. */
const recheckMs = 2_000;
const index = "node";

/**
 * Creates VolumeAttachments for the CSI volumes of pods, deletes those that no pod of the node uses, and
 * maintains `status.volumesAttached` of nodes.
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
  /** Time since which no pod needs a volume, by name of its VolumeAttachment. */
  private readonly unneededSince = new Map<string, number>();
  /** Last `volumesInUse` of deleted nodes, while VolumeAttachments to them remain. */
  private readonly inUseOfDeleted = new Map<string, readonly string[]>();
  /** Names of VolumeAttachments that this process created: identifies them after their volume is deleted. */
  private readonly created = new Map<string, true>();
  /** Keys of recorded Events: UIDs of VolumeAttachments, pods with their volumes. */
  private readonly recorded = new Map<string, true>();

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

  /** Keeps `volumesInUse` of a deleted node: its machine may still have the volumes mounted. */
  nodeDeleted({ metadata: { name }, status }: Node): void {
    if (this.attachments.indexed(index, name).length === 0) return;
    this.inUseOfDeleted.set(name, status?.volumesInUse ?? []);
  }

  /** Returns whether to sync the node again after `recheckMs`. */
  async sync(name: string): Promise<boolean> {
    const node = this.nodes.get(name);
    if (node !== undefined) this.inUseOfDeleted.delete(name);
    const isManaged = node?.metadata.annotations?.[this.managed] === "true";
    const present = this.attachments.indexed(index, name).filter((each) => this.isOwn(each));
    if (node !== undefined && !isManaged) return false;
    if (node === undefined && present.length === 0) this.inUseOfDeleted.delete(name);
    const pods = podsOn(this.pods, name);
    const needed = this.volumes.neededBy(pods);
    const remaining: VolumeAttachment[] = [];
    const unneeded: VolumeAttachment[] = [];
    for (const attachment of present) {
      const { persistentVolumeName = "" } = attachment.spec.source;
      const isNeeded = needed.has(persistentVolumeName);
      if (isNeeded) this.unneededSince.delete(attachment.metadata.name);
      const isKept = isNeeded || this.isStillUsed(node, attachment);
      (isKept ? remaining : unneeded).push(attachment);
    }
    // Removes the volume from the node's status before detaching it.
    if (node !== undefined) await this.setAttached(node, remaining);
    for (const attachment of unneeded) await this.detach(attachment);
    for (const attachment of remaining) {
      this.recordAttached(attachment, needed);
      this.recordAttachError(attachment, needed);
    }
    // A deleted node keeps the volumes of its pods, and gets no new ones.
    if (node === undefined) return remaining.length > 0;
    const presentNames = new Set(present.map(({ metadata }) => metadata.name));
    let isWaiting = remaining.some(({ metadata }) => this.unneededSince.has(metadata.name));
    for (const volume of needed.values()) {
      const attachment = attachmentName(volume.driver, volume.handle, name);
      if (presentNames.has(attachment)) continue;
      if (!(await this.attach(attachment, name, volume))) isWaiting = true;
    }
    return isWaiting || pods.some((pod) => this.hasUnbound(pod, needed));
  }

  /** Whether this controller manages an attachment; those of other clients are ignored. */
  private isOwn({ metadata, spec }: VolumeAttachment): boolean {
    const { csi } = this.volumes.volume(spec.source.persistentVolumeName ?? "")?.spec ?? {};
    if (csi === undefined) return this.created.has(metadata.name);
    return metadata.name === attachmentName(csi.driver, csi.volumeHandle, spec.nodeName);
  }

  /** Whether a pod has unbound claims. */
  private hasUnbound(pod: Pod, needed: ReadonlyMap<string, NeededVolume>): boolean {
    if (pod.status?.phase !== "Pending") return false;
    const claims = (pod.spec?.volumes ?? []).filter(
      ({ persistentVolumeClaim, ephemeral }) => persistentVolumeClaim ?? ephemeral,
    );
    const bound = [...needed.values()].filter(({ pods }) => pods.includes(pod));
    return claims.length > bound.length;
  }

  /** Whether an unneeded volume must stay attached because the node has not unmounted it yet. */
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
   * Whether the node reports the volume in `volumesInUse`. A deleted node counts by its last report, or as
   * using all volumes if this process has not observed it.
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

  private recordAttached(
    { metadata, spec, status }: VolumeAttachment,
    needed: ReadonlyMap<string, NeededVolume>,
  ): void {
    if (status?.attached !== true || this.recorded.has(metadata.uid)) return;
    setBounded(this.recorded, [metadata.uid, true], maxRecorded);
    const { persistentVolumeName = "" } = spec.source;
    const message = `AttachVolume.Attach succeeded for volume ${JSON.stringify(persistentVolumeName)} `;
    for (const pod of needed.get(persistentVolumeName)?.pods ?? []) {
      const reason = "SuccessfulAttachVolume";
      this.recorder.record(podHandle, pod, { type: "Normal", reason, message });
    }
  }

  private recordAttachError(
    { metadata, spec, status }: VolumeAttachment,
    needed: ReadonlyMap<string, NeededVolume>,
  ): void {
    const why = status?.attached === true ? undefined : status?.attachError?.message;
    const key = `${metadata.uid} ${why}`;
    if (why === undefined || this.recorded.has(key)) return;
    setBounded(this.recorded, [key, true], maxRecorded);
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
    this.created.delete(name);
    this.recorded.delete(uid);
  }

  /** Returns false if another node has the volume attached exclusively. */
  private async attach(name: string, node: string, needed: NeededVolume): Promise<boolean> {
    const { volume, driver, pods } = needed;
    const persistentVolumeName = volume.metadata.name;
    const holders = [...this.attachments.all()]
      .filter(({ spec }) => spec.source.persistentVolumeName === persistentVolumeName)
      .map((attachment) => attachment.spec.nodeName)
      .filter((holder) => holder !== node);
    if (holders.length > 0 && !allowsManyNodes(volume)) {
      const users = holders.flatMap((holder) => this.usersOn(holder, persistentVolumeName));
      for (const pod of pods) this.recordMultiAttach(pod, persistentVolumeName, users);
      return false;
    }
    const spec = { attacher: driver, nodeName: node, source: { persistentVolumeName } };
    setBounded(this.created, [name, true], maxRecorded);
    try {
      await this.context.client.create(this.handle, { metadata: { name }, spec });
    } catch (error) {
      // It exists: the informer will show it.
      if (statusCodeOf(error) !== 409) throw error;
    }
    return true;
  }

  /** Pods of a node that need a volume. */
  private usersOn(node: string, volume: string): readonly Pod[] {
    return this.volumes.neededBy(podsOn(this.pods, node)).get(volume)?.pods ?? [];
  }

  private recordMultiAttach(pod: Pod, volume: string, users: readonly Pod[]): void {
    const key = `${pod.metadata.uid} ${volume}`;
    if (this.recorded.has(key)) return;
    setBounded(this.recorded, [key, true], maxRecorded);
    const message =
      `Multi-Attach error for volume ${JSON.stringify(volume)} ` + multiAttachReason(pod, users);
    const reason = "FailedAttachVolume";
    this.recorder.record(podHandle, pod, { type: "Warning", reason, message });
  }
}

/** Why a volume cannot be attached for a pod; names no pods of other namespaces, only their number. */
function multiAttachReason({ metadata: { namespace } }: Pod, users: readonly Pod[]): string {
  if (users.length === 0)
    return "Volume is already exclusively attached to one node and can't be attached to another";
  const names = users
    .filter(({ metadata }) => metadata.namespace === namespace)
    .map(({ metadata }) => metadata.name);
  const others = `${users.length - names.length} pod(s) in different namespaces`;
  if (names.length === 0) return `Volume is already used by ${others}`;
  const used = `Volume is already used by pod(s) ${names.join(", ")}`;
  return names.length === users.length ? used : `${used} and ${others}`;
}
