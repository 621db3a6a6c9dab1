/** Indexes, failures and tracking state of a Job's pods. */
import type { JobSpec, Pod } from "#kinds";
import { isTerminal } from "../../pods/pod-state.ts";
import { replacesOnlyTerminated } from "./job-spec.ts";
import type { JobNames } from "./job-names.ts";

/** Maximum of numbers in annotations. */
const maxInt32 = 2 ** 31 - 1;

/** Index of a pod of an Indexed Job; undefined if its annotation is missing or invalid. */
export function completionIndexOf({ metadata }: Pod, names: JobNames): number | undefined {
  return parseCount(metadata.annotations?.[names.completionIndex]);
}

function parseCount(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{1,10}$/.test(text)) return undefined;
  const number = Number(text);
  return number <= maxInt32 ? number : undefined;
}

/** Failures of the index before this pod that count towards the limit per index. */
export function indexFailuresOf({ metadata }: Pod, names: JobNames): number {
  return parseCount(metadata.annotations?.[names.indexFailureCount]) ?? 0;
}

/** Failures of the index before this pod that the pod failure policy ignored. */
export function indexIgnoredFailuresOf({ metadata }: Pod, names: JobNames): number {
  return parseCount(metadata.annotations?.[names.indexIgnoredFailureCount]) ?? 0;
}

export function allIndexFailuresOf(pod: Pod, names: JobNames): number {
  return indexFailuresOf(pod, names) + indexIgnoredFailuresOf(pod, names);
}

/** Whether the pod has the tracking finalizer: its finish is not counted yet. */
export function hasTrackingFinalizer({ metadata }: Pod, names: JobNames): boolean {
  return metadata.finalizers?.includes(names.trackingFinalizer) ?? false;
}

/**
 * Whether the pod counts as failed. A terminating pod does, unless its replacement waits for its termination:
 * a pod on a lost node may never reach phase Failed.
 */
export function isFailed({ metadata, status }: Pod, spec: JobSpec): boolean {
  if (status?.phase === "Failed") return true;
  if (replacesOnlyTerminated(spec) || metadata.deletionTimestamp === undefined) return false;
  return status?.phase !== "Succeeded";
}

/** Whether the pod is being deleted and is not in a terminal phase. */
export function isPodTerminating(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp !== undefined && !isTerminal(pod);
}

/** Set of the pods' indexes. */
export function indexesOf(pods: Iterable<Pod>, names: JobNames): ReadonlySet<number> {
  const indexes = new Set<number>();
  for (const pod of pods) {
    const index = completionIndexOf(pod, names);
    if (index !== undefined) indexes.add(index);
  }
  return indexes;
}

/** Number of container restarts of pending and running pods. */
export function countRestarts(pods: readonly Pod[]): number {
  let count = 0;
  for (const { status = {} } of pods) {
    if (status.phase !== "Running" && status.phase !== "Pending") continue;
    const { initContainerStatuses = [], containerStatuses = [] } = status;
    for (const { restartCount = 0 } of [...initContainerStatuses, ...containerStatuses]) {
      count += restartCount;
    }
  }
  return count;
}

/** Patch that removes the tracking finalizer; the uid protects another pod of the name. */
export function finalizerRemoval({ metadata }: Pod, names: JobNames, resourceVersion?: string) {
  const body = {
    metadata: {
      uid: metadata.uid,
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      "$deleteFromPrimitiveList/finalizers": [names.trackingFinalizer],
    },
  };
  return { type: "strategic", body } as const;
}
