import { deepEqual } from "#base";
import type { Draft, CoreEventRecorder } from "#client";
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  type VolumePhase,
} from "#kinds";
import { Quantity } from "#meta";
import type { ControllerContext } from "../../controller-context.ts";
import { WrittenObjects } from "../../written-objects.ts";
import { reservedFor, type VolumeNames } from "#volumes";

export interface EventDetails {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

type ClaimPhase = NonNullable<NonNullable<PersistentVolumeClaim["status"]>["phase"]>;

/**
 * Writes of the binder. Each carries the resourceVersion, so that a stale one conflicts; responses are cached
 * until the informer shows them.
 */
export class VolumeWrites {
  readonly claims: WrittenObjects<PersistentVolumeClaim>;
  readonly volumes: WrittenObjects<PersistentVolume>;

  constructor(
    private readonly context: ControllerContext,
    private readonly names: VolumeNames,
    private readonly recorder: CoreEventRecorder,
  ) {
    const { informers } = context;
    this.claims = new WrittenObjects(informers.of(persistentVolumeClaims));
    this.volumes = new WrittenObjects(informers.of(persistentVolumes));
  }

  recordOnClaim(claim: PersistentVolumeClaim, event: EventDetails): void {
    this.recorder.record(persistentVolumeClaims, claim, event);
  }

  recordOnVolume(volume: PersistentVolume, event: EventDetails): void {
    this.recorder.record(persistentVolumes, volume, event);
  }

  /** Binds the volume first, which reserves it, then the claim. */
  async bind(cachedVolume: PersistentVolume, cachedClaim: PersistentVolumeClaim): Promise<void> {
    const reserved = await this.reserve(cachedVolume, cachedClaim);
    const volume = await this.setVolumePhase(reserved, "Bound");
    const claim = await this.bindClaim(cachedClaim, volume);
    await this.setClaimStatus(claim, "Bound", volume);
  }

  /** Unbinds a volume; a reservation by a user (claimRef without `bound-by-controller`) stays. */
  async unbind(volume: PersistentVolume): Promise<void> {
    const { claimRef = {}, ...spec } = volume.spec ?? {};
    const { [this.names.boundByController]: ours, ...annotations } =
      volume.metadata.annotations ?? {};
    const { uid: _uid, ...reservation } = claimRef;
    const draft =
      ours === undefined
        ? { ...volume, spec: { ...spec, claimRef: reservation } }
        : { ...volume, metadata: { ...volume.metadata, annotations }, spec };
    await this.setVolumePhase(await this.updateVolume(draft), "Available");
  }

  async setVolumePhase(
    volume: PersistentVolume,
    phase: VolumePhase,
    event?: EventDetails,
  ): Promise<PersistentVolume> {
    if (volume.status?.phase === phase) return volume;
    const { message: _message, ...status } = volume.status ?? {};
    const message = event === undefined ? {} : { message: event.message };
    const draft = { ...volume, status: { ...status, phase, ...message } };
    const written = await this.updateVolume(draft, "status");
    if (event !== undefined) this.recordOnVolume(written, event);
    return written;
  }

  async setClaimStatus(
    claim: PersistentVolumeClaim,
    phase: ClaimPhase,
    volume?: PersistentVolume,
    event?: EventDetails,
  ): Promise<void> {
    const status = claimStatus(claim, phase, this.sized(volume));
    if (deepEqual(status, claim.status)) return;
    const isNew = claim.status?.phase !== phase;
    const written = await this.updateClaim({ ...claim, status }, "status");
    if (event !== undefined && isNew) this.recordOnClaim(written, event);
  }

  /** The volume with the size of its file system, which differs until a node has expanded it. */
  private sized(volume: PersistentVolume | undefined): PersistentVolume | undefined {
    const before = volume?.metadata.annotations?.[this.names.preResizeCapacity];
    if (volume === undefined || before === undefined) return volume;
    return { ...volume, spec: { ...volume.spec, capacity: { storage: before } } };
  }

  async updateClaim(
    draft: Draft<PersistentVolumeClaim>,
    subresource = "",
  ): Promise<PersistentVolumeClaim> {
    const { client } = this.context;
    const written = await client.update(persistentVolumeClaims, draft, { subresource });
    this.claims.add(written);
    return written;
  }

  private async updateVolume(
    draft: Draft<PersistentVolume>,
    subresource = "",
  ): Promise<PersistentVolume> {
    const written = await this.context.client.update(persistentVolumes, draft, { subresource });
    this.volumes.add(written);
    return written;
  }

  private async reserve(
    volume: PersistentVolume,
    claim: PersistentVolumeClaim,
  ): Promise<PersistentVolume> {
    const draft = reservedFor(volume, claim, this.names);
    return draft === undefined ? volume : this.updateVolume(draft);
  }

  private async bindClaim(
    claim: PersistentVolumeClaim,
    volume: PersistentVolume,
  ): Promise<PersistentVolumeClaim> {
    const { metadata, spec } = claim;
    const { name } = volume.metadata;
    const isNamed = spec?.volumeName === name;
    const { bindCompleted, boundByController } = this.names;
    if (isNamed && metadata.annotations?.[bindCompleted] !== undefined) return claim;
    const annotations = {
      ...metadata.annotations,
      ...(isNamed ? {} : { [boundByController]: "yes" }),
      [bindCompleted]: "yes",
    };
    const draft = { ...claim, metadata: { ...metadata, annotations } };
    return this.updateClaim({ ...draft, spec: { ...spec, volumeName: name } });
  }
}

function claimStatus(
  claim: PersistentVolumeClaim,
  phase: ClaimPhase,
  volume: PersistentVolume | undefined,
): NonNullable<PersistentVolumeClaim["status"]> {
  const {
    accessModes: _modes,
    capacity,
    currentVolumeAttributesClassName: attributes,
    ...rest
  } = claim.status ?? {};
  if (volume === undefined) return { ...rest, phase };
  const { accessModes = [], capacity: size = {}, volumeAttributesClassName } = volume.spec ?? {};
  const isNew = claim.status?.phase !== phase;
  // Capacity of a bound claim is the file system's, which the CSI resizer and the kubelet write.
  const isSame = !isNew || isSameSize(capacity, size);
  const current = claim.status?.phase === "Pending" ? volumeAttributesClassName : attributes;
  return {
    ...rest,
    phase,
    ...(accessModes.length === 0 ? {} : { accessModes }),
    ...(isSame ? (capacity === undefined ? {} : { capacity }) : { capacity: size }),
    ...(current === undefined ? {} : { currentVolumeAttributesClassName: current }),
  };
}

type Size = Readonly<Record<string, string>>;

function isSameSize(a: Size | undefined, b: Size): boolean {
  const [before, now] = [a?.["storage"], b["storage"]];
  if (before === undefined || now === undefined) return before === now;
  return Quantity.parse(before).equals(Quantity.parse(now));
}
