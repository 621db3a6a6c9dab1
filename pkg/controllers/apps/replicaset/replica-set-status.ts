import { deepEqual } from "#base";
import type { Condition, Pod, ReplicaSetStatus } from "#kinds";
import { formatTime } from "../../time.ts";
import { isAvailable, isReady } from "../../pods/pod-state.ts";
import type { ReplicaWorkload } from "./replica-kinds.ts";

const replicaFailure = "ReplicaFailure";

export interface StatusInput {
  /** Active pods of the workload. */
  readonly pods: readonly Pod[];
  /** First error of creating or deleting pods; undefined = none. */
  readonly failure: Error | undefined;
  /** Time in milliseconds since 1970. */
  readonly now: number;
}

/** New status of a ReplicaSet or ReplicationController. */
export function nextReplicaStatus(
  { metadata, spec, status }: ReplicaWorkload,
  { pods, failure, now }: StatusInput,
): ReplicaSetStatus {
  const labels = Object.entries(spec.template.metadata?.labels ?? {});
  let [labeled, ready, available] = [0, 0, 0];
  for (const pod of pods) {
    if (labels.every(([key, value]) => pod.metadata.labels?.[key] === value)) labeled++;
    if (!isReady(pod)) continue;
    ready++;
    if (isAvailable(pod, spec.minReadySeconds, now)) available++;
  }
  const before = status?.conditions ?? [];
  const difference = pods.length - spec.replicas;
  return {
    replicas: pods.length,
    fullyLabeledReplicas: labeled,
    readyReplicas: ready,
    availableReplicas: available,
    ...(metadata.generation === undefined ? {} : { observedGeneration: metadata.generation }),
    conditions: conditionsAfter(before, failure, { difference, now }),
  };
}

/** Whether `next` differs from the status of the object. */
export function isStatusChanged({ status }: ReplicaWorkload, next: ReplicaSetStatus): boolean {
  const fields = [
    "replicas",
    "fullyLabeledReplicas",
    "readyReplicas",
    "availableReplicas",
    "observedGeneration",
  ] as const;
  const isOther = fields.some((field) => Number(status?.[field] ?? 0) !== Number(next[field] ?? 0));
  return isOther || !deepEqual(status?.conditions ?? [], next.conditions ?? []);
}

/** Sets or removes ReplicaFailure. An existing one is kept unchanged, even if the error is another one. */
function conditionsAfter(
  before: readonly Condition[],
  failure: Error | undefined,
  { difference, now }: { readonly difference: number; readonly now: number },
): readonly Condition[] {
  if (failure === undefined) return before.filter(({ type }) => type !== replicaFailure);
  if (before.some(({ type }) => type === replicaFailure)) return before;
  const reason = difference < 0 ? "FailedCreate" : difference > 0 ? "FailedDelete" : undefined;
  const condition: Condition = {
    type: replicaFailure,
    status: "True",
    lastTransitionTime: formatTime(now),
    ...(reason === undefined ? {} : { reason }),
    message: failure.message,
  };
  return [...before, condition];
}
