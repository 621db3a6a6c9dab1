import type { Informer } from "#client";
import { objectKey } from "#client";
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumes,
  type Pod,
  pods as podHandle,
  type StorageClass,
  storageClasses,
} from "#kinds";
import type { ControllerContext } from "../../controller-context.ts";
import { isTerminal } from "../../pods/pod-state.ts";
import { findVolume, isBoundTo, mismatchOf, type VolumeNames } from "#volumes";
import type { VolumeWrites } from "./volume-writes.ts";

const index = "claims";

/** Syncs a claim: binds it, requests provisioning, or sets phase Lost. */
export class ClaimSync {
  private readonly classes: Informer<StorageClass>;
  private readonly volumes: Informer<PersistentVolume>;
  private readonly pods: Informer<Pod>;
  private readonly classResource: string;

  constructor(
    { client, informers }: ControllerContext,
    private readonly names: VolumeNames,
    private readonly writes: VolumeWrites,
  ) {
    const classes = storageClasses(client.domain);
    this.classResource = `${classes.plural}.${classes.group}`;
    this.classes = informers.of(classes);
    this.volumes = informers.of(persistentVolumes);
    this.pods = informers.of(podHandle);
    this.pods.addIndex(index, claimKeys);
  }

  async untilSynced(): Promise<void> {
    await Promise.all([this.classes.untilSynced(), this.pods.untilSynced()]);
  }

  async sync(claim: PersistentVolumeClaim): Promise<void> {
    const isBound = claim.metadata.annotations?.[this.names.bindCompleted] !== undefined;
    const { volumeName } = claim.spec ?? {};
    const named = volumeName ? this.writes.volumes.latest(volumeName) : undefined;
    if (isBound) return this.syncBound(claim, named);
    return volumeName ? this.syncNamed(claim, named) : this.syncUnbound(claim);
  }

  private async syncBound(claim: PersistentVolumeClaim, volume?: PersistentVolume): Promise<void> {
    if (volume === undefined) {
      const lost = claim.spec?.volumeName ? "its" : "reference to";
      const message = `Bound claim has lost ${lost} PersistentVolume. Data on the volume is lost!`;
      return this.lose(claim, "ClaimLost", message);
    }
    const { claimRef } = volume.spec ?? {};
    if (claimRef === undefined || claimRef.uid === claim.metadata.uid) {
      return this.writes.bind(volume, claim);
    }
    const message = "Two claims are bound to the same volume, this one is bound incorrectly";
    return this.lose(claim, "ClaimMisbound", message);
  }

  private async lose(claim: PersistentVolumeClaim, reason: string, message: string): Promise<void> {
    if (claim.status?.phase === "Lost") return;
    await this.writes.setClaimStatus(claim, "Lost", undefined, {
      type: "Warning",
      reason,
      message,
    });
  }

  /** Syncs an unbound claim with `spec.volumeName`. */
  private async syncNamed(claim: PersistentVolumeClaim, volume?: PersistentVolume): Promise<void> {
    if (volume !== undefined && isBoundTo(volume, claim)) return this.writes.bind(volume, claim);
    if (volume !== undefined) {
      const name = JSON.stringify(volume.metadata.name);
      const isFree = volume.spec?.claimRef === undefined;
      const mismatch = isFree ? mismatchOf(claim, volume, this.names) : undefined;
      if (isFree && mismatch === undefined) return this.writes.bind(volume, claim);
      const [reason, message] = isFree
        ? ["VolumeMismatch", `Cannot bind to requested volume ${name}: ${mismatch}`]
        : ["FailedBinding", `volume ${name} already bound to a different claim.`];
      this.writes.recordOnClaim(claim, { type: "Warning", reason, message });
    }
    await this.writes.setClaimStatus(claim, "Pending");
  }

  private async syncUnbound(claim: PersistentVolumeClaim): Promise<void> {
    const { names, writes } = this;
    const className = names.classOf(claim);
    const isDelayed = this.classes.get(className)?.volumeBindingMode === "WaitForFirstConsumer";
    const volume = findVolume(claim, this.newestVolumes(), { names, isDelayed });
    if (volume !== undefined) return writes.bind(volume, claim);
    if (await this.assignDefaultClass(claim)) return;
    const isSelected = claim.metadata.annotations?.[names.selectedNode] !== undefined;
    if (isDelayed && !isSelected) this.recordDelay(claim);
    else if (className !== "") return this.provision(claim, className);
    else {
      const message = "no persistent volumes available for this claim and no storage class is set";
      writes.recordOnClaim(claim, { type: "Normal", reason: "FailedBinding", message });
    }
    await writes.setClaimStatus(claim, "Pending");
  }

  private *newestVolumes(): Iterable<PersistentVolume> {
    for (const volume of this.volumes.all()) yield this.writes.volumes.newest(volume);
  }

  /** Assigns the newest default StorageClass to a claim without one; returns whether there is one. */
  private async assignDefaultClass(claim: PersistentVolumeClaim): Promise<boolean> {
    if (this.names.hasClass(claim)) return false;
    const defaults = [...this.classes.all()].filter((each) => this.names.isDefaultClass(each));
    const [newest] = defaults.toSorted((a, b) => {
      const [created, other] = [a, b].map(({ metadata }) => metadata.creationTimestamp ?? "");
      if (created !== other) return created! > other! ? -1 : 1;
      return a.metadata.name < b.metadata.name ? -1 : 1;
    });
    if (newest === undefined) return false;
    const storageClassName = newest.metadata.name;
    await this.writes.updateClaim({ ...claim, spec: { ...claim.spec, storageClassName } });
    return true;
  }

  private recordDelay(claim: PersistentVolumeClaim): void {
    const waiting = this.pods
      .indexed(index, objectKey(claim))
      .filter((pod) => !isTerminal(pod) && !pod.spec?.nodeName)
      .map(({ metadata }) => metadata.name)
      .sort();
    const [reason, message] =
      waiting.length === 0
        ? ["WaitForFirstConsumer", "waiting for first consumer to be created before binding"]
        : [
            "WaitForPodScheduled",
            `waiting for pod${waiting.length > 1 ? "s" : ""} ${waiting.join()} to be scheduled`,
          ];
    this.writes.recordOnClaim(claim, { type: "Normal", reason, message });
  }

  /** Requests a volume from the provisioner of the class, by annotation. */
  private async provision(claim: PersistentVolumeClaim, className: string): Promise<void> {
    const { names, writes } = this;
    const found = this.classes.get(className);
    const provisioner = found?.provisioner ?? "";
    if (found === undefined || provisioner.startsWith(names.inTree)) {
      const message =
        found === undefined
          ? `${this.classResource.replace("classes", "class")} ${JSON.stringify(className)} not found`
          : `no volume plugin matched name: ${provisioner}`;
      writes.recordOnClaim(claim, { type: "Warning", reason: "ProvisioningFailed", message });
      return;
    }
    let asked = claim;
    const { metadata } = claim;
    if (metadata.annotations?.[names.provisioner] !== provisioner) {
      const annotations = {
        ...metadata.annotations,
        [names.betaProvisioner]: provisioner,
        [names.provisioner]: provisioner,
      };
      asked = await writes.updateClaim({ ...claim, metadata: { ...metadata, annotations } });
    }
    const message =
      `Waiting for a volume to be created either by the external provisioner '${provisioner}' or ` +
      "manually by the system administrator. If volume creation is delayed, please verify that " +
      "the provisioner is running and correctly registered.";
    writes.recordOnClaim(asked, { type: "Normal", reason: "ExternalProvisioning", message });
  }
}

/** Keys of the claims that a pod uses. */
function claimKeys({ metadata, spec }: Pod): readonly string[] {
  return (spec?.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) => {
    const claim = persistentVolumeClaim?.claimName ?? (ephemeral && `${metadata.name}-${name}`);
    return claim === undefined ? [] : [`${metadata.namespace}/${claim}`];
  });
}
