import { deepEqual } from "#base";
import type { ApiObject } from "#client";
import type { Node, Pod } from "#kinds";
import type { Status } from "./status.ts";
import { podResources } from "./resources.ts";

/** Kinds whose changes can make a pod schedulable. */
export type EventResource =
  | "Pod"
  | "Node"
  | "PersistentVolume"
  | "PersistentVolumeClaim"
  | "StorageClass"
  | "CSINode"
  | "CSIDriver"
  | "CSIStorageCapacity"
  | "VolumeAttachment"
  | "ResourceClaim"
  | "ResourceSlice"
  | "DeviceClass"
  | "*";

/** Bits of an action type. */
export const actions = {
  add: 1,
  delete: 1 << 1,
  nodeAllocatable: 1 << 2,
  nodeLabel: 1 << 3,
  nodeTaint: 1 << 4,
  nodeCondition: 1 << 5,
  nodeAnnotation: 1 << 6,
  podLabel: 1 << 7,
  podScaleDown: 1 << 8,
  podToleration: 1 << 9,
  podSchedulingGatesEliminated: 1 << 10,
  podGeneratedResourceClaim: 1 << 11,
  /** An update that none of the other bits describes. */
  update: 1 << 12,
} as const;

export interface ClusterEvent {
  readonly resource: EventResource;
  readonly action: number;
  /** For metrics: `AssignedPodDelete`, `NodeAdd`. */
  readonly label: string;
}

/** A change with the object before and after it; one of them is absent for deletes and adds. */
export interface ClusterChange {
  readonly event: ClusterEvent;
  readonly before: ApiObject | undefined;
  readonly after: ApiObject | undefined;
}

/** Whether a pod that the plugin rejected may become schedulable by the change. */
export type QueueingHint = (pod: Pod, change: ClusterChange) => boolean;

export interface EventRegistration {
  readonly resource: EventResource;
  /** Bits of `actions`. */
  readonly action: number;
  /** Absent = always. */
  readonly hint?: QueueingHint;
}

export function matchesEvent(
  { resource, action }: EventRegistration,
  event: ClusterEvent,
): boolean {
  return (resource === "*" || resource === event.resource) && (action & event.action) !== 0;
}

export function isWildcard({ resource }: ClusterEvent): boolean {
  return resource === "*";
}

/** A pod waited for as long as a pod may wait without being tried. */
export const unschedulableTimeout: ClusterEvent = {
  resource: "*",
  action: -1,
  label: "UnschedulableTimeout",
};
export const forceActivate: ClusterEvent = { resource: "*", action: -1, label: "ForceActivate" };
export const assignedPodDelete: ClusterEvent = {
  resource: "Pod",
  action: actions.delete,
  label: "AssignedPodDelete",
};

export function podUpdateEvents(before: Pod, after: Pod): readonly ClusterEvent[] {
  const state = after.spec?.nodeName ? "AssignedPod" : "UnscheduledPod";
  const gates = (pod: Pod) => pod.spec?.schedulingGates?.length ?? 0;
  const changes: (readonly [number, string, boolean])[] = [
    [actions.podLabel, "UpdatePodLabel", !deepEqual(before.metadata.labels, after.metadata.labels)],
    [actions.podScaleDown, "UpdatePodScaleDown", isScaledDown(before, after)],
    [
      actions.podSchedulingGatesEliminated,
      "UpdatePodSchedulingGatesEliminated",
      gates(after) === 0 && gates(before) > 0,
    ],
    [
      actions.podToleration,
      "UpdatePodToleration",
      (before.spec?.tolerations?.length ?? 0) !== (after.spec?.tolerations?.length ?? 0),
    ],
    [
      actions.podGeneratedResourceClaim,
      "UpdatePodGeneratedResourceClaim",
      !deepEqual(before.status?.resourceClaimStatuses, after.status?.resourceClaimStatuses),
    ],
  ];
  const events = eventsOf("Pod", changes);
  if (events.length > 0) return events;
  return [{ resource: "Pod", action: actions.update, label: `${state}Update` }];
}

export function nodeUpdateEvents(before: Node, after: Node): readonly ClusterEvent[] {
  const conditions = ({ status }: Node) =>
    Object.fromEntries((status?.conditions ?? []).map((each) => [each.type, each.status]));
  const uncordoned = before.spec?.unschedulable === true && after.spec?.unschedulable !== true;
  const taints = !deepEqual(before.spec?.taints ?? [], after.spec?.taints ?? []);
  return eventsOf("Node", [
    [
      actions.nodeAllocatable,
      "UpdateNodeAllocatable",
      !deepEqual(before.status?.allocatable, after.status?.allocatable),
    ],
    [
      actions.nodeLabel,
      "UpdateNodeLabel",
      !deepEqual(before.metadata.labels, after.metadata.labels),
    ],
    [actions.nodeTaint, "UpdateNodeTaint", uncordoned || taints],
    [
      actions.nodeCondition,
      "UpdateNodeCondition",
      !deepEqual(conditions(before), conditions(after)),
    ],
    [
      actions.nodeAnnotation,
      "UpdateNodeAnnotation",
      !deepEqual(before.metadata.annotations, after.metadata.annotations),
    ],
  ]);
}

function eventsOf(
  resource: EventResource,
  changes: readonly (readonly [number, string, boolean])[],
): readonly ClusterEvent[] {
  return changes.flatMap(([action, label, isChanged]) =>
    isChanged ? [{ resource, action, label }] : [],
  );
}

function isScaledDown(before: Pod, after: Pod): boolean {
  const isSame =
    before.spec?.containers === after.spec?.containers || deepEqual(before.spec, after.spec);
  if (isSame && deepEqual(statuses(before), statuses(after))) return false;
  const { requests: old } = podResources(before);
  const { requests } = podResources(after);
  return (
    old.milliCpu > requests.milliCpu ||
    old.memory > requests.memory ||
    old.ephemeralStorage > requests.ephemeralStorage ||
    [...old.scalars].some(([name, amount]) => amount > (requests.scalars.get(name) ?? 0))
  );
}

function statuses({ status }: Pod): unknown {
  return (status as { readonly containerStatuses?: unknown } | undefined)?.containerStatuses;
}

/** Why a plugin keeps a pod out of the queue; undefined = it does not. */
export type PreEnqueue = (pod: Pod) => Status | undefined;
