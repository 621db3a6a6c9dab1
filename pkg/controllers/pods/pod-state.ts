/** Predicates on the status of pods. */

export function conditionOf(pod: Pod, type: string): PodCondition | undefined {
  return pod.status?.conditions?.find((each) => each.type === type);
}

export function isReady(pod: Pod): boolean {
  return conditionOf(pod, "Ready")?.status === "True";
}

/** Transition time of condition Ready in milliseconds since 1970; undefined = not ready, or unknown. */
export function readySince(pod: Pod): number | undefined {
  const ready = conditionOf(pod, "Ready");
  if (ready?.status !== "True" || ready.lastTransitionTime === undefined) return undefined;
  return Date.parse(ready.lastTransitionTime);
}

/** Milliseconds until a pod has been ready for `minReadySeconds`; undefined = not ready. */
function availableInMs(
  pod: Pod,
  minReadySeconds: number | undefined,
  now: number,
): number | undefined {
  if (!isReady(pod)) return undefined;
  if (minReadySeconds === undefined || minReadySeconds === 0) return 0;
  const since = readySince(pod);
  return since === undefined ? undefined : Math.max(0, since + minReadySeconds * 1000 - now);
}

/** Milliseconds until the next ready pod becomes available; undefined = no ready pod is waiting. */
export function nextAvailableInMs(
  pods: readonly Pod[],
  minReadySeconds: number | undefined,
  now: number,
): number | undefined {
  const delays = pods.flatMap((pod) => availableInMs(pod, minReadySeconds, now) ?? []);
  const next = delays.reduce((least, ms) => (ms > 0 ? Math.min(least, ms) : least), Infinity);
  return next === Infinity ? undefined : next;
}

/** Whether a pod has been ready for `minReadySeconds`. */
export function isAvailable(pod: Pod, minReadySeconds: number | undefined, now: number): boolean {
  return availableInMs(pod, minReadySeconds, now) === 0;
}

/** Whether a pod is in phase Succeeded or Failed. */
export function isTerminal({ status }: Pod): boolean {
  return status?.phase === "Succeeded" || status?.phase === "Failed";
}

/** Whether a pod is neither terminal nor terminating. */
export function isActive(pod: Pod): boolean {
  return !isTerminal(pod) && pod.metadata.deletionTimestamp === undefined;
}
import type { Pod, PodCondition } from "#kinds";
