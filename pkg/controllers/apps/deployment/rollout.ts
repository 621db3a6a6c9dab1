import type { Pod, ReplicaSet } from "#kinds";
import { isTerminal } from "../../pods/pod-state.ts";
import type { DeploymentSync } from "./deployment-sync.ts";
import { allSets, rolloutStatus } from "./deployment-status.ts";
import { cleanUpHistory } from "./history.ts";
import { byCreation, isActiveSet } from "./replica-sets.ts";
import {
  countIn,
  isComplete,
  maxUnavailable,
  newSetReplicas,
  desiredReplicas,
} from "./rolling-limits.ts";

/** Rolling update: scales up the new or scales down the old ReplicaSets, then writes the status. */
export async function rollOut(sync: DeploymentSync): Promise<void> {
  await sync.syncRevision({ create: true });
  const isScaled = (await scaleUpNewSet(sync)) || (await scaleDownOldSets(sync));
  await updateRolloutStatus(sync, isScaled);
}

/** Strategy Recreate: scales old ReplicaSets to 0 before the new one is created. */
export async function recreate(
  sync: DeploymentSync,
  podsOf: (set: ReplicaSet) => readonly Pod[],
): Promise<void> {
  await sync.syncRevision({ create: false });
  const { oldSets } = sync.owned;
  let isScaled = false;
  for (const set of oldSets.filter(isActiveSet)) {
    isScaled = (await sync.scaleSet(set, 0)) || isScaled;
  }
  const hasOldPods =
    countIn(oldSets, "replicas") > 0 ||
    oldSets.some((set) => podsOf(set).some((pod) => !isTerminal(pod)));
  if (isScaled || hasOldPods) return updateRolloutStatus(sync, true);
  if (sync.owned.newSet === undefined) await sync.syncRevision({ create: true });
  const { newSet } = sync.owned;
  const { replicas } = sync.deployment.spec;
  if (newSet !== undefined && newSet.spec.replicas !== replicas) {
    await sync.scaleSet(newSet, replicas);
  }
  await updateRolloutStatus(sync, false);
}

async function updateRolloutStatus(sync: DeploymentSync, isScaled: boolean): Promise<void> {
  const { deployment } = sync;
  if (!isScaled && isComplete(deployment, deployment.status ?? {})) await cleanUpHistory(sync);
  await sync.writeStatus(rolloutStatus(sync.deployment, sync.owned, sync.now));
}

async function scaleUpNewSet(sync: DeploymentSync): Promise<boolean> {
  const { deployment } = sync;
  const { newSet } = sync.owned;
  const { replicas } = deployment.spec;
  if (newSet === undefined || newSet.spec.replicas === replicas) return false;
  const current = newSet.spec.replicas;
  const all = desiredReplicas(allSets(sync.owned));
  const next = current > replicas ? replicas : newSetReplicas(deployment, current, all);
  return next === current ? false : sync.scaleSet(newSet, next);
}

/** Scales old ReplicaSets down within `maxUnavailable`, unhealthy replicas first. */
async function scaleDownOldSets(sync: DeploymentSync): Promise<boolean> {
  const { deployment } = sync;
  const { newSet, oldSets } = sync.owned;
  if (newSet === undefined || desiredReplicas(oldSets) === 0) return false;
  const minAvailable = deployment.spec.replicas - maxUnavailable(deployment);
  const newUnavailable = newSet.spec.replicas - (newSet.status?.availableReplicas ?? 0);
  const all = desiredReplicas(allSets(sync.owned));
  const most = all - minAvailable - newUnavailable;
  if (most <= 0) return false;
  const active = oldSets.filter(isActiveSet);
  // A ReplicaSet that was just scaled down still counts the pods that it is about to delete.
  if (active.some((set) => unhealthyReplicas(set) < 0)) return false;
  const cleaned = await scaleDownUnhealthy(sync, most);
  const surplus = countIn([...active, newSet], "availableReplicas") - minAvailable;
  return (await scaleDownHealthy(sync, surplus)) + cleaned > 0;
}

/** Removes at most `most` unavailable replicas from old ReplicaSets; returns their number. */
async function scaleDownUnhealthy(sync: DeploymentSync, most: number): Promise<number> {
  let done = 0;
  for (const set of sync.owned.oldSets.filter(isActiveSet).toSorted(byCreation)) {
    if (done >= most) break;
    const unhealthy = unhealthyReplicas(set);
    if (unhealthy === 0) continue;
    const count = Math.min(most - done, unhealthy);
    await sync.scaleSet(set, set.spec.replicas - count);
    done += count;
  }
  return done;
}

function unhealthyReplicas({ spec, status }: ReplicaSet): number {
  return spec.replicas - (status?.availableReplicas ?? 0);
}

async function scaleDownHealthy(sync: DeploymentSync, surplus: number): Promise<number> {
  let done = 0;
  for (const set of sync.owned.oldSets.filter(isActiveSet).toSorted(byCreation)) {
    if (done >= surplus) break;
    const count = Math.min(set.spec.replicas, surplus - done);
    await sync.scaleSet(set, set.spec.replicas - count);
    done += count;
  }
  return done;
}
