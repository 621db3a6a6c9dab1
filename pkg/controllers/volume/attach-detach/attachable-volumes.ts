/** CSI volumes that the pods of a node need attached. */
import type { Informer } from "#client";
import {
  type CsiDriver,
  csiDrivers,
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  type Pod,
} from "#kinds";
import type { ControllerContext } from "../../controller-context.ts";
import { isTerminal } from "../../pods/pod-state.ts";

/** A volume that a pod needs on its node. */
export interface NeededVolume {
  readonly volume: PersistentVolume;
  readonly driver: string;
  readonly handle: string;
  readonly pods: readonly Pod[];
}

export class AttachableVolumes {
  private readonly claims: Informer<PersistentVolumeClaim>;
  private readonly volumes: Informer<PersistentVolume>;
  private readonly drivers: Informer<CsiDriver>;

  constructor({ client, informers }: ControllerContext) {
    this.claims = informers.of(persistentVolumeClaims);
    this.volumes = informers.of(persistentVolumes);
    this.drivers = informers.of(csiDrivers(client.domain));
  }

  async untilSynced(): Promise<void> {
    const all = [this.claims, this.volumes, this.drivers];
    await Promise.all(all.map((informer) => informer.untilSynced()));
  }

  volume(name: string): PersistentVolume | undefined {
    return this.volumes.get(name);
  }

  /** Volumes that the pods need, by name of the PersistentVolume. */
  neededBy(pods: readonly Pod[]): ReadonlyMap<string, NeededVolume> {
    const needed = new Map<string, NeededVolume>();
    for (const pod of pods) {
      if (isTerminal(pod)) continue;
      for (const { csi, ...volume } of this.volumesOf(pod)) {
        const { name } = volume.metadata;
        const users = needed.get(name)?.pods ?? [];
        const { driver, volumeHandle: handle } = csi;
        needed.set(name, { volume, driver, handle, pods: [...users, pod] });
      }
    }
    return needed;
  }

  private *volumesOf({ metadata, spec }: Pod) {
    for (const { name, persistentVolumeClaim, ephemeral } of spec?.volumes ?? []) {
      const claimName =
        persistentVolumeClaim?.claimName ?? (ephemeral && `${metadata.name}-${name}`);
      if (claimName === undefined) continue;
      const claim = this.claims.get(`${metadata.namespace}/${claimName}`);
      if (claim?.status?.phase !== "Bound") continue;
      const volume = this.volumes.get(claim.spec?.volumeName ?? "");
      const csi = volume?.spec?.csi;
      if (volume?.spec?.claimRef?.uid !== claim.metadata.uid || csi === undefined) continue;
      if (this.drivers.get(csi.driver)?.spec?.attachRequired === false) continue;
      yield { ...volume, csi };
    }
  }
}

/** Whether the volume may be attached to several nodes. */
export function allowsManyNodes({ spec }: PersistentVolume): boolean {
  const modes = spec?.accessModes ?? [];
  return modes.includes("ReadWriteMany") || modes.includes("ReadOnlyMany");
}
