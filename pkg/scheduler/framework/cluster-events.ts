import { deepEqual } from "#base";
import type { ApiObject } from "#client";
import type { Node, Pod } from "#kinds";
import { kubernetes, resolve } from "#meta";
import { podResources } from "./resources.ts";
import type { Status } from "./status.ts";

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
  updateNodeAllocatable: 1 << 2,
  updateNodeLabel: 1 << 3,
  updateNodeTaint: 1 << 4,
  updateNodeCondition: 1 << 5,
  updateNodeAnnotation: 1 << 6,
  updatePodLabel: 1 << 7,
  updatePodScaleDown: 1 << 8,
  updatePodToleration: 1 << 9,
  updatePodSchedulingGatesEliminated: 1 << 10,
  updatePodGeneratedResourceClaim: 1 << 11,
  /** An update that no other bit describes. */
  update: 1 << 12,
} as const;

type Action = keyof typeof actions;

export interface ClusterEvent {
  readonly resource: EventResource;
  readonly action: number;
  /** Label of metrics: `AssignedPodDelete`, `NodeUpdateNodeTaint`, `storage.k8s.io/CSINodeAdd`. */
  readonly label: string;
}

/** API groups in metric labels, by kind. */
const groups: readonly (readonly [prefix: string, resources: ReadonlySet<EventResource>])[] = [
  [
    resolve("storage.{api}/", kubernetes),
    new Set(["CSINode", "CSIDriver", "VolumeAttachment", "CSIStorageCapacity", "StorageClass"]),
  ],
  [
    resolve("resource.{api}/", kubernetes),
    new Set(["ResourceClaim", "ResourceSlice", "DeviceClass"]),
  ],
];

/** Event of a kind other than pods. */
export function eventOf(
  resource: Exclude<EventResource, "Pod" | "*">,
  action: Action,
): ClusterEvent {
  const [prefix = ""] = groups.find(([, resources]) => resources.has(resource)) ?? [];
  return { resource, action: actions[action], label: `${prefix}${resource}${titleOf(action)}` };
}

/** Event of an assigned or unscheduled pod. */
function podEventOf(state: "AssignedPod" | "UnschedulablePod", action: Action): ClusterEvent {
  return { resource: "Pod", action: actions[action], label: `${state}${titleOf(action)}` };
}

/** An event with the object before and after it; `before` is undefined for adds, `after` for deletes. */
export interface ClusterChange {
  readonly event: ClusterEvent;
  readonly before: ApiObject | undefined;
  readonly after: ApiObject | undefined;
}

/** Queueing hint: whether the change may make a pod schedulable that the plugin rejected. */
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

/** A pod reached the maximum time in the unschedulable pods. */
export const unschedulableTimeout: ClusterEvent = {
  resource: "*",
  action: -1,
  label: "UnschedulableTimeout",
};
export const forceActivate: ClusterEvent = { resource: "*", action: -1, label: "ForceActivate" };
export const assignedPodAdd = podEventOf("AssignedPod", "add");
export const assignedPodUpdate = podEventOf("AssignedPod", "update");
export const assignedPodDelete = podEventOf("AssignedPod", "delete");
export const unscheduledPodAdd = podEventOf("UnschedulablePod", "add");
export const unscheduledPodUpdate = podEventOf("UnschedulablePod", "update");
export const unscheduledPodDelete = podEventOf("UnschedulablePod", "delete");

export function podUpdateEvents(before: Pod, after: Pod): readonly ClusterEvent[] {
  const state = after.spec?.nodeName ? "AssignedPod" : "UnschedulablePod";
  const gates = (pod: Pod) => pod.spec?.schedulingGates?.length ?? 0;
  const tolerations = (pod: Pod) => pod.spec?.tolerations?.length ?? 0;
  const changed = changedIn({
    updatePodLabel: !deepEqual(before.metadata.labels, after.metadata.labels),
    updatePodScaleDown: isScaledDown(before, after),
    updatePodSchedulingGatesEliminated: gates(after) === 0 && gates(before) > 0,
    updatePodToleration: tolerations(before) !== tolerations(after),
    updatePodGeneratedResourceClaim: !deepEqual(
      before.status?.resourceClaimStatuses,
      after.status?.resourceClaimStatuses,
    ),
  });
  const actionsOfPod = changed.length > 0 ? changed : (["update"] as const);
  return actionsOfPod.map((action) => podEventOf(state, action));
}

export function nodeUpdateEvents(before: Node, after: Node): readonly ClusterEvent[] {
  const conditions = ({ status }: Node) =>
    Object.fromEntries((status?.conditions ?? []).map((each) => [each.type, each.status]));
  const uncordoned = before.spec?.unschedulable === true && after.spec?.unschedulable !== true;
  const taints = !deepEqual(before.spec?.taints ?? [], after.spec?.taints ?? []);
  const changed = changedIn({
    updateNodeAllocatable: !deepEqual(before.status?.allocatable, after.status?.allocatable),
    updateNodeLabel: !deepEqual(before.metadata.labels, after.metadata.labels),
    updateNodeTaint: uncordoned || taints,
    updateNodeCondition: !deepEqual(conditions(before), conditions(after)),
    updateNodeAnnotation: !deepEqual(before.metadata.annotations, after.metadata.annotations),
  });
  return changed.map((action) => eventOf("Node", action));
}

function titleOf(action: Action): string {
  return `${action[0]!.toUpperCase()}${action.slice(1)}`;
}

function changedIn(changes: Partial<Record<Action, boolean>>): readonly Action[] {
  return (Object.keys(changes) as Action[]).filter((action) => changes[action]);
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

/** PreEnqueue: status with which a plugin gates a pod; undefined = not gated. */
export type PreEnqueue = (pod: Pod) => Status | undefined;
