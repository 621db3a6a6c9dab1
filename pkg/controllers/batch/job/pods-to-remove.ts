/** Selects surplus active pods of a Job. */
import type { Pod } from "#kinds";
import type { Domain } from "#meta";
import { inDeletionOrder } from "../../pods/deletion-order.ts";
import type { JobState } from "./job-evaluation.ts";
import { completionIndexOf, hasTrackingFinalizer } from "./job-pods.ts";
import { isIndexed } from "./job-spec.ts";

/**
 * At least `count` active pods: of an Indexed Job all with an invalid or duplicate index, then the others in
 * deletion order. Pods without the tracking finalizer come first: an earlier sync failed to delete them.
 */
export function podsToRemove(state: JobState, count: number, domain: Domain): readonly Pod[] {
  const { active, names, spec, now } = state;
  const ordered = (pods: readonly Pod[]) =>
    inDeletionOrder(pods, { colocated: new Map(), now, domain, hasCost: false });
  const { removed, left } = isIndexed(spec)
    ? splitByIndex(state, ordered)
    : { removed: [], left: active };
  if (removed.length >= count) return removed;
  const untracked = left.filter((pod) => !hasTrackingFinalizer(pod, names));
  const tracked = left.filter((pod) => hasTrackingFinalizer(pod, names));
  const candidates = [...ordered(untracked), ...ordered(tracked)];
  return [...removed, ...candidates.slice(0, count - removed.length)];
}

interface Split {
  readonly removed: readonly Pod[];
  readonly left: readonly Pod[];
}

/** Keeps one pod per valid index, the last one in deletion order. */
function splitByIndex(
  { active, names, spec }: JobState,
  ordered: (pods: readonly Pod[]) => readonly Pod[],
): Split {
  const { completions = 0 } = spec;
  const removed: Pod[] = [];
  const left: Pod[] = [];
  const byIndex = new Map<number, Pod[]>();
  for (const pod of active) {
    const index = completionIndexOf(pod, names);
    if (index === undefined || index >= completions) {
      removed.push(pod);
      continue;
    }
    const same = byIndex.get(index);
    if (same === undefined) byIndex.set(index, [pod]);
    else same.push(pod);
  }
  for (const pods of byIndex.values()) {
    const sorted = pods.length === 1 ? pods : ordered(pods);
    removed.push(...sorted.slice(0, -1));
    left.push(sorted.at(-1)!);
  }
  return { removed, left };
}
