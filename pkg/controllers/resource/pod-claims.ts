/** ResourceClaims of a pod. */
import { objectKey } from "#client";
import type { Pod, PodResourceClaim, ResourceClaim } from "#kinds";
import { controllerOf } from "../owners/controller-ref.ts";
import { isTerminal } from "../pods/pod-state.ts";

/** Name of a pod's claim; `unknown` = not generated yet, `none` = the pod needs none. */
export type ClaimName =
  | "unknown"
  | "none"
  | { readonly name: string; readonly isGenerated: boolean };

export function claimNameOf(pod: Pod, { name, ...claim }: PodResourceClaim): ClaimName {
  if (claim.resourceClaimName !== undefined) {
    return { name: claim.resourceClaimName, isGenerated: false };
  }
  const status = pod.status?.resourceClaimStatuses?.find((each) => each.name === name);
  if (status === undefined) return "unknown";
  const { resourceClaimName } = status;
  return resourceClaimName === undefined ? "none" : { name: resourceClaimName, isGenerated: true };
}

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

/** @throws Error if a claim was not generated for the pod */
export function checkOwner(claim: ResourceClaim, pod: Pod): void {
  if (isOwner(claim, pod)) return;
  const what = `ResourceClaim ${objectKey(claim)} was not created for pod ${objectKey(pod)}`;
  throw new Error(`${what} (pod is not owner)`);
}
