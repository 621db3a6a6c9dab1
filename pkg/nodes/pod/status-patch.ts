/** Patches of a pod's status by its kubelet. */
import { deepEqual } from "#base";
import type { ContainerStatus, Pod, PodCondition, PodStatus } from "#kinds";

/**
 * Strategic merge patch with the status fields that differ from the stored ones; undefined = none. Conditions
 * of other writers are not changed.
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

/** Conditions that the kubelet owns and removes when they do not apply. */
const kubeletConditionTypes = new Set([
  "PodScheduled",
  "Ready",
  "Initialized",
  "ContainersReady",
  "PodReadyToStartContainers",
  "PodResizeInProgress",
  "PodResizePending",
]);

/** Removes `allocatedResources`, which the API server drops by default, from container statuses. */
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

/** Nulls for the absent optional fields of a condition, since a merge keeps omitted fields. */
function cleared({ reason, message }: Partial<PodCondition> = {}): object {
  return {
    ...(reason === undefined ? {} : { reason: null }),
    ...(message === undefined ? {} : { message: null }),
  };
}
