/** ResourceClaims of pods: names, owners and reservations. */
import type { ApiObject } from "#client";
import type { PodResourceClaim, ResourceClaim } from "#kinds";

/** Fields of a pod that reference claims. */
export interface ClaimingPod extends ApiObject {
  readonly spec?: { readonly resourceClaims?: readonly PodResourceClaim[] };
  readonly status?: {
    readonly resourceClaimStatuses?: readonly {
      readonly name: string;
      readonly resourceClaimName?: string;
    }[];
  };
}

/** A claim that the pod cannot use. */
export class ClaimFault extends Error {
  override readonly name = "ClaimFault";
}

export interface ClaimName {
  readonly name: string;
  /** Whether the claim was generated from a template: then the pod must own it. */
  readonly isGenerated: boolean;
}

/**
 * Name of the claim; undefined = none is needed.
 * @throws ClaimFault if the claim has not been generated yet
 */
export function claimNameOf(pod: ClaimingPod, claim: PodResourceClaim): ClaimName | undefined {
  if (claim.resourceClaimName !== undefined) {
    return { name: claim.resourceClaimName, isGenerated: false };
  }
  const { namespace = "", name } = pod.metadata;
  if (claim.resourceClaimTemplateName === undefined) {
    const where = `pod "${namespace}/${name}", spec.resourceClaim "${claim.name}"`;
    throw new ClaimFault(`${where}: none of the supported fields are set`);
  }
  const statuses = pod.status?.resourceClaimStatuses ?? [];
  const status = statuses.find((each) => each.name === claim.name);
  if (status === undefined) {
    throw new ClaimFault(`pod "${namespace}/${name}": ResourceClaim not created yet`);
  }
  const { resourceClaimName } = status;
  return resourceClaimName === undefined
    ? undefined
    : { name: resourceClaimName, isGenerated: true };
}

/** Keys (`namespace/name`) of the pod's claims with known names. */
export function claimKeysOf(pod: ClaimingPod): readonly string[] {
  const { namespace = "" } = pod.metadata;
  const generated = new Map(
    (pod.status?.resourceClaimStatuses ?? []).map((each) => [each.name, each.resourceClaimName]),
  );
  return (pod.spec?.resourceClaims ?? []).flatMap(({ name, resourceClaimName }) => {
    const found = resourceClaimName ?? generated.get(name);
    return found === undefined ? [] : [`${namespace}/${found}`];
  });
}

/** @throws ClaimFault if the claim was not generated for the pod */
function checkClaimOwner(claim: ResourceClaim, pod: ClaimingPod): void {
  const { namespace = "", name } = pod.metadata;
  const owner = claim.metadata.ownerReferences?.find((each) => each.controller === true);
  if (claim.metadata.namespace === namespace && owner?.uid === pod.metadata.uid) return;
  const what = `ResourceClaim ${claim.metadata.namespace}/${claim.metadata.name}`;
  throw new ClaimFault(`${what} was not created for pod ${namespace}/${name} (pod is not owner)`);
}

/**
 * Claims of a pod, by their names in the spec.
 * @param get finds a claim by `namespace/name`
 * @throws ClaimFault if one is missing, is being deleted or belongs to another pod
 */
export function claimsOfPod(
  pod: ClaimingPod,
  get: (key: string) => ResourceClaim | undefined,
): ReadonlyMap<string, ResourceClaim> {
  const found = new Map<string, ResourceClaim>();
  for (const each of pod.spec?.resourceClaims ?? []) {
    const named = claimNameOf(pod, each);
    if (named === undefined) continue;
    const key = `${pod.metadata.namespace ?? ""}/${named.name}`;
    const claim = get(key);
    if (claim === undefined) {
      throw new ClaimFault(`could not find ResourceClaim "${key}"`);
    }
    if (claim.metadata.deletionTimestamp !== undefined) {
      throw new ClaimFault(`resourceclaim "${named.name}" is being deleted`);
    }
    if (named.isGenerated) checkClaimOwner(claim, pod);
    found.set(each.name, claim);
  }
  return found;
}

/** Whether the claim is reserved for the pod. */
export function isReservedFor(claim: ResourceClaim, pod: ApiObject): boolean {
  return (claim.status?.reservedFor ?? []).some(({ uid }) => uid === pod.metadata.uid);
}
