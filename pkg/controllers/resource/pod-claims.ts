/** Pods for which ResourceClaims were generated. */
import type { Pod, ResourceClaim } from "#kinds";
import { controllerOf } from "../owners/controller-ref.ts";
import { isTerminal } from "../pods/pod-state.ts";

/** Whether the pod is terminal, or was deleted before it was scheduled. */
export function isDone(pod: Pod): boolean {
  if (isTerminal(pod)) return true;
  return pod.metadata.deletionTimestamp !== undefined && !pod.spec?.nodeName;
}

/** Reference to the pod that a claim was generated for. */
export function owningPodOf(claim: ResourceClaim): { name: string; uid: string } | undefined {
  const owner = controllerOf(claim);
  return owner?.kind === "Pod" && owner.apiVersion === "v1" ? owner : undefined;
}

/** Whether a claim was generated for the pod. */
export function isOwner(claim: ResourceClaim, pod: Pod): boolean {
  return controllerOf(claim)?.uid === pod.metadata.uid;
}
