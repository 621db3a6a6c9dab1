import { deepEqual } from "#base";
import { ClaimFault, claimsOfPod } from "#dynamic-resource-allocation";
import type { Pod, ResourceClaim } from "#kinds";
import {
  actions,
  type ClusterChange,
  type EventRegistration,
} from "../../framework/cluster-events.ts";
import type { DeviceManager } from "../../framework/device-manager.ts";

/** Events that may make a pod schedulable that waits for devices. */
export function deviceEvents(devices: DeviceManager): readonly EventRegistration[] {
  const added = actions.add | actions.update;
  const nodeChanges = actions.add | actions.updateNodeLabel | actions.updateNodeAllocatable;
  return [
    { resource: "Node", action: nodeChanges },
    {
      resource: "ResourceClaim",
      action: added,
      hint: (pod, change) => isFreedByClaim(devices, pod, change),
    },
    {
      resource: "Pod",
      action: actions.updatePodGeneratedResourceClaim,
      hint: (pod, { after }) =>
        after?.metadata.uid === pod.metadata.uid && claimsOf(devices, after) !== undefined,
    },
    { resource: "DeviceClass", action: added },
    { resource: "ResourceSlice", action: added },
  ];
}

/** Claims of the pod; undefined = one is not usable yet. */
function claimsOf(devices: DeviceManager, pod: Pod): readonly ResourceClaim[] | undefined {
  try {
    return [...claimsOfPod(pod, (key) => devices.claim(key)).values()];
  } catch (error) {
    if (error instanceof ClaimFault) return undefined;
    throw error;
  }
}

/** Hint: a claim of the pod was created or changed its status, or any claim was deallocated. */
function isFreedByClaim(devices: DeviceManager, pod: Pod, change: ClusterChange): boolean {
  const before = change.before as ResourceClaim | undefined;
  const after = change.after as ResourceClaim;
  const claims = claimsOf(devices, pod);
  if (claims === undefined) return false;
  if (before?.status?.allocation !== undefined && after.status?.allocation === undefined)
    return true;
  if (!claims.some(({ metadata }) => metadata.uid === after.metadata.uid)) return false;
  return before === undefined || !deepEqual(before.status ?? {}, after.status ?? {});
}
