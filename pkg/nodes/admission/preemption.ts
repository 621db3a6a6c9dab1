/** Preemption by the kubelet in favor of a critical pod. */
import type { Pod } from "#kinds";
import { podRequests, type PodRequests } from "./pod-requests.ts";

/** Missing amount of a resource. */
export interface Shortage {
  readonly resource: string;
  readonly missing: bigint;
}

interface Candidate {
  readonly pod: Pod;
  readonly requests: PodRequests;
}

/**
 * Pods to preempt by the kubelet's algorithm: of the lowest QoS classes that suffice, as few as possible.
 * @param pods preemptible pods of the node
 * @returns the unmet requirements as text, if all pods together do not suffice
 */
export function podsToPreempt(
  pods: readonly Pod[],
  shortages: readonly Shortage[],
): readonly Pod[] | string {
  const candidates = pods.map((pod): Candidate => ({ pod, requests: podRequests(pod) }));
  const ofClass = (qosClass: string) =>
    candidates.filter(({ pod }) => pod.status?.qosClass === qosClass);
  const bestEffort = ofClass("BestEffort");
  const burstable = ofClass("Burstable");
  const unmet = without(shortages, candidates);
  if (unmet.length > 0) {
    return `no set of running pods found to reclaim resources: ${printShortages(unmet)}`;
  }
  const guaranteed = closest(
    ofClass("Guaranteed"),
    without(shortages, [...bestEffort, ...burstable]),
  );
  const second = closest(burstable, without(shortages, [...bestEffort, ...guaranteed]));
  const first = closest(bestEffort, without(shortages, [...second, ...guaranteed]));
  return [...first, ...second, ...guaranteed].map(({ pod }) => pod);
}

/** Prints the requirements like the kubelet. */
function printShortages(shortages: readonly Shortage[]): string {
  const parts = shortages.map(({ resource, missing }) => `(res: ${resource}, q: ${missing}), `);
  return `[${parts.join("")}]`;
}

/** Shortages that remain after preempting the pods. */
function without(shortages: readonly Shortage[], pods: readonly Candidate[]): readonly Shortage[] {
  return shortages.flatMap(({ resource, missing }) => {
    const freed = pods.reduce((sum, pod) => sum + amountOf(pod, resource), 0n);
    return freed < missing ? [{ resource, missing: missing - freed }] : [];
  });
}

/** Amount of a resource that preempting the pod frees; of `pods` it is one. */
function amountOf({ requests }: Candidate, resource: string): bigint {
  return resource === "pods" ? 1n : (requests.amounts.get(resource) ?? 0n);
}

/** Repeatedly takes the pod closest to the remaining shortages; on a tie the smaller one. */
function closest(
  candidates: readonly Candidate[],
  shortages: readonly Shortage[],
): readonly Candidate[] {
  const left = [...candidates];
  const chosen: Candidate[] = [];
  for (let missing = shortages; missing.length > 0;) {
    left.sort((a, b) => distance(a, missing) - distance(b, missing) || bySize(a, b));
    const next = left.shift();
    if (next === undefined) break;
    chosen.push(next);
    missing = without(missing, [next]);
  }
  return chosen;
}

/** Sum over resources of the squared fraction that remains missing without the pod. */
function distance(candidate: Candidate, shortages: readonly Shortage[]): number {
  return shortages.reduce((sum, { resource, missing }) => {
    const left = Number(missing - amountOf(candidate, resource));
    return left > 0 ? sum + (left / Number(missing)) ** 2 : sum;
  }, 0);
}

function bySize(left: Candidate, right: Candidate): number {
  for (const resource of ["memory", "cpu"]) {
    const difference = amountOf(left, resource) - amountOf(right, resource);
    if (difference !== 0n) return difference < 0n ? -1 : 1;
  }
  return 0;
}
