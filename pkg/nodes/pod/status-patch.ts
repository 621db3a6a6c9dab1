/** What a kubelet writes of a pod's status: the fields that differ from those that are stored. */
import { deepEqual } from "#base";
import type { ContainerStatus, Pod, PodCondition, PodStatus } from "#kinds";

/**
 * The fields of a status that differ from the stored ones, for a strategic merge patch; undefined =
 * none does. Conditions of other writers stay as they are.
 */
export function statusPatch({ status: old = {} }: Pod, status: PodStatus): object | undefined {
  const changed = Object.entries(status).filter(([name, value]) => {
    if (name === "conditions") return false;
    const known = old[name as keyof PodStatus];
    return !deepEqual(value, known) && !deepEqual(withoutAllocated(value, known), known);
  });
  const conditions = status.conditions?.flatMap((condition) => {
    const known = old.conditions?.find(({ type }) => type === condition.type);
    return deepEqual(condition, withNullProbe(known)) ? [] : [{ ...cleared(known), ...condition }];
  });
  const dropped = (old.conditions ?? [])
    .filter(({ type }) => kubeletConditionTypes.has(type))
    .filter(({ type }) => status.conditions?.some((each) => each.type === type) === false)
    .map(({ type }) => ({ $patch: "delete", type }));
  const merged = [...(conditions ?? []), ...dropped];
  if (changed.length === 0 && merged.length === 0) return undefined;
  return { ...Object.fromEntries(changed), ...(merged.length === 0 ? {} : { conditions: merged }) };
}

/** Conditions that belong to the kubelet: it drops those that do not apply. */
const kubeletConditionTypes = new Set([
  "PodScheduled",
  "Ready",
  "Initialized",
  "ContainersReady",
  "PodReadyToStartContainers",
  "PodResizeInProgress",
  "PodResizePending",
]);

/** Container statuses without the allocated resources that the server does not keep by default. */
function withoutAllocated(value: unknown, known: unknown): unknown {
  if (!Array.isArray(value) || !Array.isArray(known)) return value;
  return value.map((status: ContainerStatus, at) => {
    const { resources, allocatedResources } = (known[at] ?? {}) as Partial<ContainerStatus>;
    if (resources === undefined || allocatedResources !== undefined) return status;
    const { allocatedResources: _, ...rest } = status;
    return rest;
  });
}

function withNullProbe<T extends object>(condition: T | undefined): T | undefined {
  return condition && { lastProbeTime: null, ...condition };
}

/** A merge keeps fields that a patch leaves out: those that a condition may lose are removed. */
function cleared({ reason, message }: Partial<PodCondition> = {}): object {
  return {
    ...(reason === undefined ? {} : { reason: null }),
    ...(message === undefined ? {} : { message: null }),
  };
}
