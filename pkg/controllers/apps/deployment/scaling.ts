import type { Deployment, ReplicaSet } from "#kinds";
import type { DeploymentSync } from "./deployment-sync.ts";
import { allSets, calculateStatus, type OwnedSets } from "./deployment-status.ts";
import { cleanUpHistory } from "./history.ts";
import { byCreation, bySize, isActiveSet } from "./replica-sets.ts";
import { maxSurge, proportion, desiredReplicas } from "./rolling-limits.ts";

/** Whether `spec.replicas` has changed since the ReplicaSets were last scaled (a scaling event). */
export function isScaled(sync: DeploymentSync): boolean {
  return allSets(sync.owned)
    .filter(isActiveSet)
    .some((set) => {
      const desired = sync.annotations.desiredOf(set);
      return desired !== undefined && desired !== sync.deployment.spec.replicas;
    });
}

/** Scales a Deployment that is paused or was scaled, without a rollout. */
export async function scaleOnly(sync: DeploymentSync): Promise<void> {
  await sync.syncRevision({ create: false });
  await scale(sync);
  const { deployment } = sync;
  const hasRollback = sync.annotations.rollbackOf(deployment) !== undefined;
  if (deployment.spec.paused === true && !hasRollback) await cleanUpHistory(sync);
  await writeCounts(sync);
}

/** Writes the replica counts and the condition Available, not Progressing. */
export async function writeCounts(sync: DeploymentSync): Promise<void> {
  await sync.writeStatus(calculateStatus(sync.deployment, sync.owned, sync.now));
}

async function scale(sync: DeploymentSync): Promise<void> {
  const { deployment, owned } = sync;
  const { replicas } = deployment.spec;
  const only = activeOrLatest(owned);
  if (only !== undefined) {
    if (only.spec.replicas !== replicas) await sync.scaleSet(only, replicas);
    return;
  }
  if (isSaturated(sync, owned.newSet)) {
    for (const old of owned.oldSets.filter(isActiveSet)) await sync.scaleSet(old, 0);
    return;
  }
  if (deployment.spec.strategy.type === "RollingUpdate") await scaleProportionally(sync);
}

/** The only active ReplicaSet, or the newest one if none is active; undefined = several are active. */
function activeOrLatest({ newSet, oldSets }: OwnedSets): ReplicaSet | undefined {
  const active = allSets({ newSet, oldSets }).filter(isActiveSet);
  if (active.length === 1) return active[0];
  if (active.length > 1) return undefined;
  return newSet ?? oldSets.toSorted(byCreation).at(-1);
}

function isSaturated(sync: DeploymentSync, set: ReplicaSet | undefined): boolean {
  const { replicas } = sync.deployment.spec;
  return (
    set !== undefined &&
    set.spec.replicas === replicas &&
    sync.annotations.desiredOf(set) === replicas &&
    (set.status?.availableReplicas ?? 0) === replicas
  );
}

/** Distributes the change of size over the active ReplicaSets in proportion to their sizes. */
async function scaleProportionally(sync: DeploymentSync): Promise<void> {
  const { deployment } = sync;
  const active = allSets(sync.owned).filter(isActiveSet);
  const toAdd = allowedReplicas(deployment) - desiredReplicas(active);
  const sorted = toAdd === 0 ? active : active.toSorted(bySize(toAdd > 0 ? "newer" : "older"));
  let added = 0;
  const sizes = sorted.map((set) => {
    const maxBefore = sync.annotations.maxOf(set);
    const share = proportion(deployment, set, { toAdd, added, maxBefore });
    added += share;
    return set.spec.replicas + share;
  });
  for (const [index, set] of sorted.entries()) {
    // The largest ReplicaSet takes the rounding leftover.
    const leftover = index === 0 ? toAdd - added : 0;
    await sync.scaleSet(set, Math.max(0, sizes[index]! + leftover));
  }
}

function allowedReplicas(deployment: Deployment): number {
  const { replicas } = deployment.spec;
  return replicas === 0 ? 0 : replicas + maxSurge(deployment);
}
