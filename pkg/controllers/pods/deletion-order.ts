import type { Pod } from "#kinds";
import { type Domain, resolve } from "#meta";
import { isReady, readySince } from "./pod-state.ts";

/** Order of phases; others rank as Pending (0). */
const phaseRanks: Readonly<Record<string, number>> = { Unknown: 1, Running: 2 };

interface Ranked {
  readonly pod: Pod;
  readonly isAssigned: boolean;
  readonly phase: number;
  readonly isReady: boolean;
  readonly cost: number;
  /** Number of related pods on its node. */
  readonly colocated: number;
  /** Milliseconds since 1970; undefined = not ready, or without lastTransitionTime. */
  readonly readySince: number | undefined;
  readonly restarts: number;
  readonly sidecarRestarts: number;
  readonly created: number | undefined;
}

interface DeletionOrderOptions {
  /** Number of related pods per node: nodes with more lose pods first. */
  readonly colocated: ReadonlyMap<string, number>;
  /** Time in milliseconds since 1970. */
  readonly now: number;
  readonly domain: Domain;
  /** Whether `pod-deletion-cost` counts. */
  readonly hasCost: boolean;
}

/**
 * Sorts pods in the order in which a ReplicaSet deletes them, by kube-controller-manager's
 * ActivePodsWithRanks: unassigned first; pending, unknown, running; not ready; lower `pod-deletion-cost`;
 * more related pods on the node; ready for a shorter time; more restarts; younger. Ages are compared by
 * their power of two, equal ones by uid.
 */
export function inDeletionOrder(
  pods: readonly Pod[],
  options: DeletionOrderOptions,
): readonly Pod[] {
  const { now } = options;
  const annotation = resolve("controller.{label}/pod-deletion-cost", options.domain);
  return pods
    .map((pod) => ranked(pod, annotation, options))
    .sort((left, right) => compare(left, right, now))
    .map(({ pod }) => pod);
}

function ranked(pod: Pod, annotation: string, options: DeletionOrderOptions): Ranked {
  const { colocated, hasCost } = options;
  const { nodeName = "", initContainers = [] } = pod.spec ?? {};
  const { phase = "", containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
  const { annotations, creationTimestamp } = pod.metadata;
  const sidecars = new Set(
    initContainers.filter((each) => each.restartPolicy === "Always").map(({ name }) => name),
  );
  const sidecarStatuses = initContainerStatuses.filter(({ name }) => sidecars.has(name));
  return {
    pod,
    isAssigned: nodeName !== "",
    phase: phaseRanks[phase] ?? 0,
    isReady: isReady(pod),
    cost: hasCost ? deletionCost(annotations?.[annotation]) : 0,
    colocated: colocated.get(nodeName) ?? 0,
    readySince: readySince(pod),
    restarts: maxRestarts(containerStatuses),
    sidecarRestarts: maxRestarts(sidecarStatuses),
    created: creationTimestamp === undefined ? undefined : Date.parse(creationTimestamp),
  };
}

/** Parses `pod-deletion-cost`: an int32 without plus sign or leading zeros; 0 if invalid. */
function deletionCost(text = "0"): number {
  if (!/^(?:0|[1-9]\d*|-\d+)$/.test(text)) return 0;
  const cost = Number(text);
  return cost === (cost | 0) ? cost : 0;
}

function maxRestarts(statuses: readonly { readonly restartCount?: number }[]): number {
  return statuses.reduce((most, { restartCount = 0 }) => Math.max(most, restartCount), 0);
}

/** Negative = `left` is deleted first. */
function compare(left: Ranked, right: Ranked, now: number): number {
  return (
    Number(left.isAssigned) - Number(right.isAssigned) ||
    left.phase - right.phase ||
    Number(left.isReady) - Number(right.isReady) ||
    left.cost - right.cost ||
    right.colocated - left.colocated ||
    (left.isReady ? byAge(left, right, "readySince", now) : 0) ||
    right.restarts - left.restarts ||
    right.sidecarRestarts - left.sidecarRestarts ||
    byAge(left, right, "created", now)
  );
}

/** Younger first; an unknown time is the youngest. */
function byAge(left: Ranked, right: Ranked, field: "readySince" | "created", now: number): number {
  const [first, second] = [left[field], right[field]];
  if (first === second) return 0;
  if (first === undefined) return -1;
  if (second === undefined) return 1;
  const difference = agePower(now - first) - agePower(now - second);
  if (difference !== 0) return difference;
  return left.pod.metadata.uid < right.pod.metadata.uid ? -1 : 1;
}

/** Power of two of an age in nanoseconds. */
function agePower(ms: number): number {
  return ms > 0 ? Math.floor(Math.log2(ms * 1e6)) : -1;
}
