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
  wantedReplicas,
} from "./rolling-limits.ts";

/** Replaces pods step by step: one write of sizes, then the status; the next sync goes on. */
export async function rollOut(sync: DeploymentSync): Promise<void> {
  await sync.syncRevision({ create: true });
  const isScaled = (await scaleUpNewSet(sync)) || (await scaleDownOldSets(sync));
  await finish(sync, isScaled);
}

/** Removes all old pods before the first new one is made. */
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
  if (isScaled || hasOldPods) return finish(sync, true);
  if (sync.owned.newSet === undefined) await sync.syncRevision({ create: true });
  const { newSet } = sync.owned;
  const { replicas } = sync.deployment.spec;
  if (newSet !== undefined && newSet.spec.replicas !== replicas) {
    await sync.scaleSet(newSet, replicas);
  }
  await finish(sync, false);
}

async function finish(sync: DeploymentSync, isScaled: boolean): Promise<void> {
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
  const all = wantedReplicas(allSets(sync.owned));
  const next = current > replicas ? replicas : newSetReplicas(deployment, current, all);
  return next === current ? false : sync.scaleSet(newSet, next);
}

/** Scales old ReplicaSets down as far as enough pods stay available, unhealthy ones first. */
async function scaleDownOldSets(sync: DeploymentSync): Promise<boolean> {
  const { deployment } = sync;
  const { newSet, oldSets } = sync.owned;
  if (newSet === undefined || wantedReplicas(oldSets) === 0) return false;
  const minAvailable = deployment.spec.replicas - maxUnavailable(deployment);
  const newUnavailable = newSet.spec.replicas - (newSet.status?.availableReplicas ?? 0);
  const all = wantedReplicas(allSets(sync.owned));
  const most = all - minAvailable - newUnavailable;
  if (most <= 0) return false;
  const active = oldSets.filter(isActiveSet);
  // A ReplicaSet that was scaled down just now still counts the pods that it is about to delete.
  if (active.some((set) => unhealthyReplicas(set) < 0)) return false;
  const cleaned = await scaleDownUnhealthy(sync, most);
  const surplus = countIn([...active, newSet], "availableReplicas") - minAvailable;
  return (await scaleDownHealthy(sync, surplus)) + cleaned > 0;
}

/** Answers by how much; an old ReplicaSet keeps what is available. */
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
