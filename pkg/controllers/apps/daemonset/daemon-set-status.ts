import type { DaemonSet, DaemonSetStatus } from "#kinds";
import { isAvailable, isReady } from "../../pods/pod-state.ts";
import { byAssignment, isUpdated, templateGeneration } from "./daemon-pods.ts";
import type { DaemonView } from "./node-plan.ts";

/** Counts nodes: desired, scheduled, misscheduled, ready, updated and available. */
export function calculateStatus(
  { set, hash, nodes, podsByNode, eligibility, now }: DaemonView,
  isObserved: boolean,
): DaemonSetStatus {
  const generation = templateGeneration(set);
  const { minReadySeconds } = set.spec;
  let [desired, current, misscheduled, ready, updated, available] = [0, 0, 0, 0, 0, 0];
  for (const node of nodes) {
    const [pod] = (podsByNode.get(node.metadata.name) ?? []).toSorted(byAssignment);
    if (!eligibility(node).shouldRun) {
      if (pod !== undefined) misscheduled++;
      continue;
    }
    desired++;
    if (pod === undefined) continue;
    current++;
    if (isReady(pod)) ready++;
    if (isAvailable(pod, minReadySeconds, now)) available++;
    if (isUpdated(pod, hash, generation)) updated++;
  }
  const observed = isObserved ? set.metadata.generation : set.status?.observedGeneration;
  const { collisionCount } = set.status ?? {};
  return {
    currentNumberScheduled: current,
    desiredNumberScheduled: desired,
    numberMisscheduled: misscheduled,
    numberReady: ready,
    updatedNumberScheduled: updated,
    numberAvailable: available,
    numberUnavailable: desired - available,
    ...(observed === undefined ? {} : { observedGeneration: observed }),
    ...(collisionCount === undefined ? {} : { collisionCount }),
  };
}

export function isStatusChanged({ status }: DaemonSet, next: DaemonSetStatus): boolean {
  const fields = [
    "currentNumberScheduled",
    "desiredNumberScheduled",
    "numberMisscheduled",
    "numberReady",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
  ] as const;
  return (
    fields.some((field) => (status?.[field] ?? 0) !== (next[field] ?? 0)) ||
    Number(status?.observedGeneration ?? 0) < Number(next.observedGeneration ?? 0)
  );
}
