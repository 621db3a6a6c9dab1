import type { Informer, Informers } from "#client";
import {
  attachmentName,
  type CsiDriver,
  csiDrivers,
  type CsiNode,
  csiNodes,
  type CsiVolumeSource,
  type Node,
  nodes,
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  type Pod,
  uniqueVolumeName,
  type Volume,
  type VolumeAttachment,
  volumeAttachments,
} from "#kinds";
import { type Domain, resolve } from "#meta";

/** State of a pod's claim on its way to the mount. */
export type ClaimState =
  | { readonly state: "unusable"; readonly why: string }
  | {
      readonly state: "waiting" | "attached";
      readonly volume: PersistentVolume;
      /** Unique volume name in the status of nodes; undefined = not attachable. */
      readonly uniqueName: string | undefined;
    };

/** Names of the objects on which the mount of a claim depends, for `PodVolumes.wake`. */
export const objectName = {
  claim: (key: string) => `claim ${key}`,
  volume: (name: string) => `volume ${name}`,
  attachment: (name: string) => `attachment ${name}`,
  node: (name: string) => `node ${name}`,
};

/** Claims of pods, from the view of the simulated kubelets. */
export class ClaimedVolumes {
  private readonly claims: Informer<PersistentVolumeClaim>;
  private readonly volumes: Informer<PersistentVolume>;
  private readonly attachments: Informer<VolumeAttachment>;
  private readonly drivers: Informer<CsiDriver>;
  private readonly csiNodes: Informer<CsiNode>;
  private readonly nodes: Informer<Node>;
  private readonly finalizer: string;

  constructor(
    informers: Informers,
    private readonly domain: Domain,
    /** Called with the name of an added or changed object. */
    onChange: (name: string) => void,
  ) {
    this.claims = informers.of(persistentVolumeClaims);
    this.volumes = informers.of(persistentVolumes);
    this.attachments = informers.of(volumeAttachments(domain));
    this.drivers = informers.of(csiDrivers(domain));
    this.csiNodes = informers.of(csiNodes(domain));
    this.nodes = informers.of(nodes);
    this.finalizer = resolve("{label}/pvc-protection", domain);
    this.claims.subscribe(({ object: { metadata } }) =>
      onChange(objectName.claim(`${metadata.namespace}/${metadata.name}`)),
    );
    this.volumes.subscribe(({ object }) => onChange(objectName.volume(object.metadata.name)));
    this.attachments.subscribe(({ object }) =>
      onChange(objectName.attachment(object.metadata.name)),
    );
    this.csiNodes.subscribe(({ object }) => onChange(objectName.node(object.metadata.name)));
    this.nodes.subscribe(({ object }) => onChange(objectName.node(object.metadata.name)));
  }

  async untilSynced(): Promise<void> {
    const { claims, volumes, attachments, drivers, csiNodes: registered } = this;
    const all = [claims, volumes, attachments, drivers, registered, this.nodes];
    await Promise.all(all.map((informer) => informer.untilSynced()));
  }

  claim(key: string): PersistentVolumeClaim | undefined {
    return this.claims.get(key);
  }

  volumeOf(claim: PersistentVolumeClaim): PersistentVolume | undefined {
    return this.volumes.get(claim.spec?.volumeName ?? "");
  }

  /** State of a claim on the node of the pod, with the kubelet's messages. */
  stateOf(claimKey: string, volume: Volume, pod: Pod): ClaimState {
    const claim = this.claims.get(claimKey);
    const why = this.claimFault(claim, claimKey);
    if (why !== undefined) return unusable(`error processing PVC ${claimKey}: ${why}`);
    const bound = this.volumeOf(claim!);
    const fault = volumeFault(bound, claim!);
    if (fault !== undefined) return unusable(`error processing PVC ${claimKey}: ${fault}`);
    if (volume.ephemeral !== undefined && !isOwned(claim!, pod)) {
      const name = `${pod.metadata.namespace}/${pod.metadata.name}`;
      const what = `PVC ${claimKey} was not created for pod ${name}`;
      return unusable(`${what} (pod is not owner)`);
    }
    const mode = modeFault(bound!, volume.name, pod);
    if (mode !== undefined) return unusable(mode);
    return this.attachState(bound!, pod.spec?.nodeName ?? "");
  }

  /** Names of the objects on which the state of a claim depends. */
  dependencies(claimKey: string, node: string): readonly string[] {
    const name = this.claims.get(claimKey)?.spec?.volumeName ?? "";
    const names = [objectName.claim(claimKey), objectName.node(node)];
    if (name === "") return names;
    const { csi } = this.volumes.get(name)?.spec ?? {};
    if (csi === undefined) return [...names, objectName.volume(name)];
    const attachment = attachmentName(csi.driver, csi.volumeHandle, node);
    return [...names, objectName.volume(name), objectName.attachment(attachment)];
  }

  /** Whether a CSI driver is registered on a node. */
  hasDriver(driver: string, node: string): boolean {
    const drivers = this.csiNodes.get(node)?.spec?.drivers ?? [];
    return drivers.some(({ name }) => name === driver);
  }

  private claimFault(claim: PersistentVolumeClaim | undefined, key: string): string | undefined {
    if (claim === undefined) {
      const name = JSON.stringify(key.slice(key.indexOf("/") + 1));
      return `failed to fetch PVC from API server: persistentvolumeclaims ${name} not found`;
    }
    const { deletionTimestamp, finalizers = [] } = claim.metadata;
    const isGoing = deletionTimestamp !== undefined && !finalizers.includes(this.finalizer);
    if (isGoing) return "PVC is being deleted";
    if (claim.status?.phase !== "Bound") return "PVC is not bound";
    return claim.spec?.volumeName ? undefined : "PVC has empty pvc.Spec.VolumeName";
  }

  private attachState(volume: PersistentVolume, node: string): ClaimState {
    const { csi } = volume.spec ?? {};
    const isAttachable =
      csi !== undefined && this.drivers.get(csi.driver)?.spec?.attachRequired !== false;
    if (!isAttachable) return { state: "attached", volume, uniqueName: undefined };
    const uniqueName = uniqueVolumeName(csi.driver, csi.volumeHandle, this.domain);
    const state = this.isAttached(csi, uniqueName, node) ? "attached" : "waiting";
    return { state, volume, uniqueName };
  }

  private isAttached(csi: CsiVolumeSource, uniqueName: string, node: string): boolean {
    const { volumesAttached = [] } = this.nodes.get(node)?.status ?? {};
    if (!volumesAttached.some(({ name }) => name === uniqueName)) return false;
    const name = attachmentName(csi.driver, csi.volumeHandle, node);
    const attachment = this.attachments.get(name);
    const isGoing = attachment?.metadata.deletionTimestamp !== undefined;
    return attachment?.status?.attached === true && !isGoing;
  }
}

function unusable(why: string): ClaimState {
  return { state: "unusable", why };
}

function volumeFault(
  volume: PersistentVolume | undefined,
  { metadata, spec }: PersistentVolumeClaim,
): string | undefined {
  const name = spec?.volumeName ?? "";
  if (volume === undefined) {
    const what = `persistentvolumes ${JSON.stringify(name)} not found`;
    return `failed to fetch PV ${name} from API server: ${what}`;
  }
  const { claimRef } = volume.spec ?? {};
  if (claimRef === undefined) {
    const why = "a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim";
    return `found PV object ${name} but it has ${why}`;
  }
  if (claimRef.uid === metadata.uid) return undefined;
  const why = `its pv.Spec.ClaimRef.UID ${claimRef.uid ?? ""} does not point to claim.UID`;
  return `found PV object ${name} but ${why} ${metadata.uid}`;
}

function isOwned({ metadata }: PersistentVolumeClaim, pod: Pod): boolean {
  const { ownerReferences = [] } = metadata;
  return ownerReferences.some(
    ({ controller, uid }) => controller === true && uid === pod.metadata.uid,
  );
}

/** Error if a container uses a volume in the wrong volumeMode; undefined = none. */
function modeFault({ spec }: PersistentVolume, name: string, pod: Pod): string | undefined {
  const mode = spec?.volumeMode ?? "Filesystem";
  const { initContainers = [], containers = [] } = pod.spec ?? {};
  const all = [...initContainers, ...containers];
  const isMounted = all.some(({ volumeMounts = [] }) =>
    volumeMounts.some((mount) => mount.name === name),
  );
  const isDevice = all.some(({ volumeDevices = [] }) =>
    volumeDevices.some((device) => device.name === name),
  );
  const field =
    isMounted && mode !== "Filesystem"
      ? "volumeMounts"
      : isDevice && mode !== "Block"
        ? "volumeDevices"
        : undefined;
  if (field === undefined) return undefined;
  return `volume ${name} has volumeMode ${mode}, but is specified in ${field}`;
}
