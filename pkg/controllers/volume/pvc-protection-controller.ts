import { type InformerEvent, objectKey, RequeueAfter } from "#client";
import {
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  type Pod,
  pods as podHandle,
} from "#kinds";
import { resolve } from "#meta";
import { ByNamespace } from "../by-namespace.ts";
import { type ControllerContext, newWorkQueue } from "../controller-context.ts";
import { needsProtectionSync, syncProtection } from "./protection-finalizer.ts";

/** Retry delay if only the live list shows a pod, not the informer. */
const staleCacheMs = 1_000;

/**
 * Protects PersistentVolumeClaims in use: adds the finalizer `pvc-protection`, and removes it from deleted
 * claims that no scheduled pod references. The informer suffices to find a user; its absence is confirmed by
 * a live list of pods.
 */
export async function runPersistentVolumeClaimProtection(
  context: ControllerContext,
): Promise<void> {
  const { client, informers } = context;
  const finalizer = resolve("{label}/pvc-protection", client.domain);
  const queue = newWorkQueue(context, "pvcprotection");
  const claims = informers.of(persistentVolumeClaims);
  const pods = informers.of(podHandle);
  const podsIn = new ByNamespace(pods);
  const pending = new PendingClaims();
  claims.subscribe(({ type, object }) => {
    const isPending = type !== "deleted" && needsProtectionSync(object, finalizer);
    pending.set(object, isPending);
    if (isPending) queue.add(object.metadata.namespace ?? "");
  });
  pods.subscribe((change) => {
    const { namespace = "" } = change.object.metadata;
    if (pending.of(namespace).length > 0 && mayFreeClaims(change)) queue.add(namespace);
  });
  await Promise.all([claims.untilSynced(), pods.untilSynced()]);
  await queue.run(async (namespace) => {
    const failures: unknown[] = [];
    // One list for all claims of the namespace, since its deletion deletes many at once.
    let live: Promise<readonly Pod[]> | undefined;
    const isUsed = async (claim: PersistentVolumeClaim) => {
      const names = (pod: Pod) => usesClaim(pod, claim);
      if ([...podsIn.in(namespace)].some(names)) return true;
      live ??= client.list(podHandle, { namespace }).then(({ items }) => items);
      if (!(await live).some(names)) return false;
      throw new RequeueAfter(`${objectKey(claim)} is used by a pod`, staleCacheMs);
    };
    const protection = { client, resource: persistentVolumeClaims, finalizer, isUsed };
    for (const key of pending.of(namespace)) {
      const claim = claims.get(key);
      if (claim === undefined) continue;
      await syncProtection(claim, protection).catch((error: unknown) => failures.push(error));
    }
    const failure = failures.find((each) => !(each instanceof RequeueAfter)) ?? failures[0];
    if (failure !== undefined) throw failure;
  });
}

/** Keys of the claims to sync, by namespace. */
class PendingClaims {
  private readonly keys = new Map<string, Set<string>>();

  of(namespace: string): readonly string[] {
    return [...(this.keys.get(namespace) ?? [])];
  }

  set(claim: PersistentVolumeClaim, isPending: boolean): void {
    const { namespace = "" } = claim.metadata;
    const keys = this.keys.get(namespace) ?? new Set<string>();
    if (isPending) keys.add(objectKey(claim));
    else keys.delete(objectKey(claim));
    if (keys.size > 0) this.keys.set(namespace, keys);
    else this.keys.delete(namespace);
  }
}

/** Whether claims may be unused after the change: the pod is deleted, terminal or unscheduled. */
function mayFreeClaims({ type, object: { metadata, spec, status } }: InformerEvent<Pod>): boolean {
  if (type === "deleted" || metadata.deletionTimestamp !== undefined) return true;
  return !spec?.nodeName || status?.phase === "Succeeded" || status?.phase === "Failed";
}

/** Whether a pod uses a claim: from its scheduling on, since a kubelet starts no pod with a deleted claim. */
function usesClaim(pod: Pod, claim: PersistentVolumeClaim): boolean {
  const { name, ownerReferences = [] } = claim.metadata;
  if (!pod.spec?.nodeName) return false;
  return (pod.spec.volumes ?? []).some((volume) => {
    if (volume.persistentVolumeClaim?.claimName === name) return true;
    if (volume.ephemeral === undefined || isShutDown(pod)) return false;
    const isOwner = ownerReferences.some(
      ({ uid, controller }) => controller === true && uid === pod.metadata.uid,
    );
    return isOwner && name === `${pod.metadata.name}-${volume.name}`;
  });
}

/**
 * Whether the kubelet has terminated the pod, or it was force-deleted. Such a pod does not protect the claims
 * of its ephemeral volumes, since a finalizer of the pod may wait for their deletion.
 */
function isShutDown({ metadata }: Pod): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  return deletionTimestamp !== undefined && Number(deletionGracePeriodSeconds) === 0;
}
