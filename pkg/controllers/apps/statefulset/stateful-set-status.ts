import type { ControllerRevision, Pod, StatefulSet, StatefulSetStatus } from "#kinds";
import { isAvailable } from "../../pods/pod-state.ts";
import { isRunningAndReady, revisionOf } from "./stateful-pods.ts";

/** Current and update revision of a StatefulSet; equal when all pods are updated. */
export interface Revisions {
  readonly current: ControllerRevision;
  readonly update: ControllerRevision;
  readonly collisionCount: number;
}

export function calculateStatus(
  { metadata, spec }: StatefulSet,
  pods: readonly Pod[],
  { revisions, now }: { readonly revisions: Revisions; readonly now: number },
): StatefulSetStatus {
  const [current, update] = [revisions.current.metadata.name, revisions.update.metadata.name];
  const living = pods.filter((pod) => pod.metadata.deletionTimestamp === undefined);
  const ready = pods.filter(isRunningAndReady);
  const { generation } = metadata;
  return {
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    replicas: pods.length,
    readyReplicas: ready.length,
    availableReplicas: ready.filter((pod) => isAvailable(pod, spec.minReadySeconds, now)).length,
    currentReplicas: living.filter((pod) => revisionOf(pod) === current).length,
    updatedReplicas: living.filter((pod) => revisionOf(pod) === update).length,
    currentRevision: current,
    updateRevision: update,
    collisionCount: revisions.collisionCount,
  };
}

/** Makes the update revision the current one if the rolling update is complete. */
export function completeRollingUpdate(
  { spec }: StatefulSet,
  status: StatefulSetStatus,
): StatefulSetStatus {
  const { updatedReplicas = 0, updateRevision = "" } = status;
  const isComplete =
    spec.updateStrategy.type === "RollingUpdate" &&
    updatedReplicas === spec.replicas &&
    status.readyReplicas === spec.replicas &&
    status.replicas === spec.replicas;
  if (!isComplete) return status;
  return { ...status, currentReplicas: updatedReplicas, currentRevision: updateRevision };
}

export function isStatusChanged({ status }: StatefulSet, next: StatefulSetStatus): boolean {
  const numbers = [
    "replicas",
    "readyReplicas",
    "availableReplicas",
    "currentReplicas",
    "updatedReplicas",
  ] as const;
  return (
    Number(next.observedGeneration ?? 0) > Number(status?.observedGeneration ?? 0) ||
    numbers.some((field) => (status?.[field] ?? 0) !== (next[field] ?? 0)) ||
    status?.currentRevision !== next.currentRevision ||
    status?.updateRevision !== next.updateRevision
  );
}
