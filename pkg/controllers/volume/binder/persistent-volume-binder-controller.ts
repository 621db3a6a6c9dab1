import { idleWhile } from "#base";
import { objectKey, CoreEventRecorder } from "#client";
import { persistentVolumeClaims, persistentVolumes } from "#kinds";
import { type ControllerContext, newWorkQueue } from "../../controller-context.ts";
import { ClaimSync } from "./claim-sync.ts";
import { VolumeNames } from "#volumes";
import { VolumeSync } from "./volume-sync.ts";
import { VolumeWrites } from "./volume-writes.ts";

export interface PersistentVolumeBinderOptions {
  /** Resync interval of all claims and volumes. */
  readonly volumeSyncMs: number;
}

/** kube-controller-manager's default. */
export const defaultVolumeSyncMs = 15_000;

/**
 * Binds claims to volumes, requests provisioning, and reclaims volumes of deleted claims. Syncs one claim and
 * one volume at a time, so that no two claims choose the same volume.
 */
export async function runPersistentVolumeBinder(
  context: ControllerContext,
  { volumeSyncMs }: PersistentVolumeBinderOptions,
): Promise<void> {
  const { client, clock, informers, signal } = context;
  const claims = informers.of(persistentVolumeClaims);
  const volumes = informers.of(persistentVolumes);
  const claimQueue = newWorkQueue(context, "claims");
  const volumeQueue = newWorkQueue(context, "volumes");
  const recorder = new CoreEventRecorder(context, "persistentvolume-controller");
  const names = new VolumeNames(client.domain);
  const writes = new VolumeWrites(context, names, recorder);
  const claimSync = new ClaimSync(context, names, writes);
  const volumeSync = new VolumeSync(context, names, writes, (key) => claimQueue.add(key));
  claims.subscribe(({ type, object }) => {
    const { volumeName } = object.spec ?? {};
    if (type !== "deleted") claimQueue.add(objectKey(object));
    else if (volumeName) volumeQueue.add(volumeName);
  });
  volumes.subscribe(({ type, object }) => {
    const { claimRef } = object.spec ?? {};
    if (type !== "deleted") volumeQueue.add(object.metadata.name);
    else if (claimRef !== undefined) claimQueue.add(`${claimRef.namespace}/${claimRef.name}`);
  });
  await Promise.all([claims.untilSynced(), volumes.untilSynced(), claimSync.untilSynced()]);
  const pause = idleWhile(() => claims.size + volumes.size === 0);
  const resync = async () => {
    while (!signal.aborted) {
      await clock.sleep(volumeSyncMs, signal, pause).catch(() => undefined);
      for (const claim of claims.all()) claimQueue.add(objectKey(claim));
      for (const volume of volumes.all()) volumeQueue.add(volume.metadata.name);
    }
  };
  const syncClaim = async (key: string) => {
    const claim = writes.claims.latest(key);
    if (claim !== undefined) await claimSync.sync(claim);
  };
  const syncVolume = async (name: string) => {
    const volume = writes.volumes.latest(name);
    if (volume !== undefined) await volumeSync.sync(volume);
  };
  await Promise.all([
    recorder.run(),
    claimQueue.run(syncClaim),
    volumeQueue.run(syncVolume),
    resync(),
  ]);
}
