/** Preemption by a kubelet: pods of a node that it ends so that a critical pod has room. */
import type { Pod } from "#kinds";
import { podRequests, type PodRequests } from "./pod-requests.ts";

/** An amount of a resource that is missing. */
export interface Shortage {
  readonly resource: string;
  readonly missing: bigint;
}

interface Candidate {
  readonly pod: Pod;
  readonly requests: PodRequests;
}

/**
 * The pods to end, of the lowest QoS classes that suffice and as few as possible, as a kubelet chooses them.
 * @param pods pods of the node that may be preempted
 * @returns a text that tells what cannot be met, if all pods together do not suffice
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
    return `no set of running pods found to reclaim resources: ${shown(unmet)}`;
  }
  const guaranteed = closest(
    ofClass("Guaranteed"),
    without(shortages, [...bestEffort, ...burstable]),
  );
  const second = closest(burstable, without(shortages, [...bestEffort, ...guaranteed]));
  const first = closest(bestEffort, without(shortages, [...second, ...guaranteed]));
  return [...first, ...second, ...guaranteed].map(({ pod }) => pod);
}

/** As Kubernetes prints the list. */
function shown(shortages: readonly Shortage[]): string {
  const parts = shortages.map(({ resource, missing }) => `(res: ${resource}, q: ${missing}), `);
  return `[${parts.join("")}]`;
}

/** What is still missing without the pods. */
function without(shortages: readonly Shortage[], pods: readonly Candidate[]): readonly Shortage[] {
  return shortages.flatMap(({ resource, missing }) => {
    const freed = pods.reduce((sum, pod) => sum + amountOf(pod, resource), 0n);
    return freed < missing ? [{ resource, missing: missing - freed }] : [];
  });
}

/** A pod frees its own place among the pods of the node. */
function amountOf({ requests }: Candidate, resource: string): bigint {
  return resource === "pods" ? 1n : (requests.amounts.get(resource) ?? 0n);
}

/** Takes, again and again, the pod that comes closest to what is missing; of two alike, the smaller. */
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

/** Sum over the resources of the square of the part that the pod leaves missing. */
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
