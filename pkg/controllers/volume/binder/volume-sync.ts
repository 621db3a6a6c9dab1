import {
  type ClaimRef,
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
} from "#kinds";
import { ignoreNotFound } from "#meta";
import type { ControllerContext } from "../../controller-context.ts";
import { hasSameMode, type VolumeNames } from "#volumes";
import type { VolumeWrites } from "./volume-writes.ts";

/** Syncs a volume: sets its phase, and reclaims it after its claim is deleted. */
export class VolumeSync {
  constructor(
    private readonly context: ControllerContext,
    private readonly names: VolumeNames,
    private readonly writes: VolumeWrites,
    /** Enqueues a claim by key. */
    private readonly enqueueClaim: (key: string) => void,
  ) {}

  async sync(volume: PersistentVolume): Promise<void> {
    const { claimRef } = volume.spec ?? {};
    if (!claimRef?.uid) {
      await this.writes.setVolumePhase(volume, "Available");
      return;
    }
    const claim = await this.claimOf(volume, claimRef);
    if (claim === undefined) return this.release(volume);
    const { volumeName } = claim.spec ?? {};
    if (volumeName === volume.metadata.name) {
      await this.writes.setVolumePhase(volume, "Bound");
    } else if (volumeName) {
      const { annotations = {} } = volume.metadata;
      const isProvisioned = annotations[this.names.provisionedBy] !== undefined;
      const isDeleted = volume.spec?.persistentVolumeReclaimPolicy === "Delete";
      await (isProvisioned && isDeleted ? this.release(volume) : this.writes.unbind(volume));
    } else if (hasSameMode(claim, volume)) {
      this.enqueueClaim(`${claimRef.namespace}/${claimRef.name}`);
    } else {
      this.recordModeMismatch(volume, claim);
    }
  }

  /** The claim to which the volume is bound; one that is not cached is read live. */
  private async claimOf(
    { status }: PersistentVolume,
    { namespace = "", name = "", uid }: ClaimRef,
  ): Promise<PersistentVolumeClaim | undefined> {
    const cached = this.writes.claims.latest(`${namespace}/${name}`);
    if (cached?.metadata.uid === uid) return cached;
    const isReleased = status?.phase === "Released" || status?.phase === "Failed";
    if (cached === undefined && isReleased) return undefined;
    const { client } = this.context;
    const live = await client
      .get(persistentVolumeClaims, { namespace, name })
      .catch(ignoreNotFound);
    return live?.metadata.uid === uid ? live : undefined;
  }

  private async release(volume: PersistentVolume): Promise<void> {
    const isReleased = volume.status?.phase === "Released" || volume.status?.phase === "Failed";
    // Phase Failed remains until the volume is reclaimed.
    const released = isReleased ? volume : await this.writes.setVolumePhase(volume, "Released");
    switch (volume.spec?.persistentVolumeReclaimPolicy) {
      case "Delete":
        return this.delete(released);
      case "Recycle":
        return this.fail(
          released,
          "VolumeFailedRecycle",
          "No recycler plugin found for the volume!",
        );
      default:
        return;
    }
  }

  /** Deletes hostPath volumes; external provisioners delete their own. */
  private async delete(volume: PersistentVolume): Promise<void> {
    const { name, uid, annotations = {} } = volume.metadata;
    const { csi, hostPath } = volume.spec ?? {};
    const provisioner = annotations[this.names.provisionedBy] ?? "";
    if (provisioner !== "" && !provisioner.startsWith(this.names.inTree)) return;
    if (provisioner === "" && csi !== undefined) return;
    if (hostPath === undefined) {
      const what = `error getting deleter volume plugin for volume ${JSON.stringify(name)}`;
      const message = `${what}: no deletable volume plugin matched`;
      return this.fail(volume, "VolumeFailedDelete", message);
    }
    if (!/^\/tmp\/.+/.test(hostPath.path)) {
      const message = `host_path deleter only supports /tmp/.+ but received provided ${hostPath.path}`;
      return this.fail(volume, "VolumeFailedDelete", message);
    }
    if (volume.metadata.deletionTimestamp !== undefined) return;
    const { client } = this.context;
    await client
      .delete(persistentVolumes, { name }, { preconditions: { uid } })
      .catch(ignoreNotFound);
  }

  private async fail(volume: PersistentVolume, reason: string, message: string): Promise<void> {
    await this.writes.setVolumePhase(volume, "Failed", { type: "Warning", reason, message });
  }

  private recordModeMismatch(volume: PersistentVolume, claim: PersistentVolumeClaim): void {
    const reason = "VolumeMismatch";
    const why = "due to incompatible volumeMode.";
    const [volumeName, claimName] = [volume, claim].map(({ metadata }) =>
      JSON.stringify(metadata.name),
    );
    this.writes.recordOnVolume(volume, {
      type: "Warning",
      reason,
      message: `Cannot bind PersistentVolume to requested PersistentVolumeClaim ${claimName} ${why}`,
    });
    this.writes.recordOnClaim(claim, {
      type: "Warning",
      reason,
      message: `Cannot bind PersistentVolume ${volumeName} to requested PersistentVolumeClaim ${why}`,
    });
  }
}
