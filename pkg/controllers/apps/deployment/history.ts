import type { DeploymentSync } from "./deployment-sync.ts";
import { byCreation } from "./replica-sets.ts";
import { historyLimit } from "./rolling-limits.ts";

/** Deletes old ReplicaSets without pods beyond `revisionHistoryLimit`, lowest revision first. */
export async function cleanUpHistory(sync: DeploymentSync): Promise<void> {
  const limit = historyLimit(sync.deployment);
  if (limit === undefined) return;
  const { annotations } = sync;
  const alive = sync.owned.oldSets.filter(({ metadata }) => {
    return metadata.deletionTimestamp === undefined;
  });
  const surplus = alive.length - limit;
  if (surplus <= 0) return;
  const sorted = alive.toSorted((left, right) => {
    const [first, second] = [annotations.revisionOf(left), annotations.revisionOf(right)];
    if (first === undefined || second === undefined) return byCreation(left, right);
    return Number(first > second) - Number(first < second) || byCreation(left, right);
  });
  for (const set of sorted.slice(0, surplus)) {
    const { metadata, spec, status } = set;
    const hasPods = spec.replicas !== 0 || (status?.replicas ?? 0) !== 0;
    const isObserved = Number(status?.observedGeneration ?? 0) >= Number(metadata.generation ?? 0);
    if (!hasPods && isObserved) await sync.deleteSet(set);
  }
}
