/** Resources allocated to a pod by its node, and the state of its in-place resize. */
import { deepEqual } from "#base";
import {
  type Container,
  isSidecar,
  type Pod,
  type PodCondition,
  type ResourceRequirements,
  statusesOf,
} from "#kinds";

/** Resources by the name of a container or sidecar, the containers that can be resized. */
export type Resources = ReadonlyMap<string, ResourceRequirements>;

export interface PodAllocation {
  /** Resources with which the node admitted the pod or accepted its last resize. */
  allocated: Resources;
  /** Resources that running containers still have during a resize; undefined = the allocated ones. */
  actuated: Resources | undefined;
  /** Resources of the last resize request that the node evaluated. */
  judged: Resources;
  /** Conditions PodResizePending and PodResizeInProgress. */
  pending: PodCondition | undefined;
  inProgress: PodCondition | undefined;
}

/** The containers of a pod that can be resized. */
export function resizableContainers({ spec }: Pod): readonly Container[] {
  const { initContainers = [], containers = [] } = spec ?? {};
  return [...initContainers.filter(isSidecar), ...containers];
}

export function requestedResources(pod: Pod): Resources {
  return new Map(resizableContainers(pod).map(({ name, resources = {} }) => [name, resources]));
}

export function newAllocation(pod: Pod): PodAllocation {
  const allocated = requestedResources(pod);
  const conditions = { pending: undefined, inProgress: undefined };
  return { allocated, actuated: undefined, judged: allocated, ...conditions };
}

/** Restores the allocation of a pod from its container statuses, after a restart of the process. */
export function restoreAllocation(pod: Pod): PodAllocation {
  const allocation = newAllocation(pod);
  const statuses = statusesOf(pod);
  const known = resizableContainers(pod).map(({ name, resources = {} }) => {
    const status = statuses.find((each) => each.name === name);
    if (status?.resources === undefined) return [name, resources] as const;
    const { allocatedResources: requests, resources: actual } = status;
    return [name, requests === undefined ? actual : { ...actual, requests }] as const;
  });
  const allocated = new Map(known);
  const conditionOf = (wanted: string) =>
    pod.status?.conditions?.find(({ type }) => type === wanted);
  const pending = conditionOf("PodResizePending");
  const inProgress = conditionOf("PodResizeInProgress");
  return { ...allocation, allocated, judged: allocated, pending, inProgress };
}

export function areSame(left: Resources, right: Resources): boolean {
  if (left === right) return true;
  return [...left].every(([name, resources]) => {
    const { requests, limits } = resources;
    const other = right.get(name);
    return (
      deepEqual(requests ?? {}, other?.requests ?? {}) &&
      deepEqual(limits ?? {}, other?.limits ?? {})
    );
  });
}

/** The pod with its allocated resources instead of the requested ones. */
export function allocatedPod(pod: Pod, allocation: PodAllocation | undefined): Pod {
  if (allocation === undefined || areSame(requestedResources(pod), allocation.allocated))
    return pod;
  const withAllocated = (container: Container): Container => {
    const resources = allocation.allocated.get(container.name);
    return resources === undefined ? container : { ...container, resources };
  };
  const { initContainers, containers } = pod.spec ?? {};
  const inits = initContainers?.map((each) => (isSidecar(each) ? withAllocated(each) : each));
  const spec = {
    ...pod.spec,
    ...(inits === undefined ? {} : { initContainers: inits }),
    ...(containers === undefined ? {} : { containers: containers.map(withAllocated) }),
  };
  return { ...pod, spec };
}

/** Conditions of a resize; none for a terminated pod. */
export function resizeConditions({
  allocation,
  isFinished,
}: {
  readonly allocation: PodAllocation | undefined;
  readonly isFinished: boolean;
}): readonly PodCondition[] {
  if (isFinished || allocation === undefined) return [];
  return [allocation.pending, allocation.inProgress].filter((each) => each !== undefined);
}
