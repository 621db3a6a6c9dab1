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

/** The pod cannot use one of its claims. */
export class ClaimFault extends Error {
  override readonly name = "ClaimFault";
}

/**
 * Name of the ResourceClaim for an entry of a pod's spec.resourceClaims; `unknown` = not generated yet,
 * `none` = the pod needs none.
 */
export type ClaimName =
  | "unknown"
  | "none"
  | {
      readonly name: string;
      /** Whether the claim was generated from a template: then the pod must own it. */
      readonly isGenerated: boolean;
    };

export function claimNameOf(pod: ClaimingPod, claim: PodResourceClaim): ClaimName {
  if (claim.resourceClaimName !== undefined) {
    return { name: claim.resourceClaimName, isGenerated: false };
  }
  const statuses = pod.status?.resourceClaimStatuses ?? [];
  const status = statuses.find(({ name }) => name === claim.name);
  if (status === undefined) return "unknown";
  const { resourceClaimName } = status;
  return resourceClaimName === undefined ? "none" : { name: resourceClaimName, isGenerated: true };
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
export function checkClaimOwner(claim: ResourceClaim, pod: ClaimingPod): void {
  const { namespace = "", name } = pod.metadata;
  const owner = claim.metadata.ownerReferences?.find((each) => each.controller === true);
  if (claim.metadata.namespace === namespace && owner?.uid === pod.metadata.uid) return;
  const key = `${claim.metadata.namespace}/${claim.metadata.name}`;
  throw new ClaimFault(
    `ResourceClaim ${key} was not created for pod ${namespace}/${name} (pod is not owner)`,
  );
}

/**
 * Finds the claims of a pod. Returns them by the names of their entries in spec.resourceClaims.
 * @param get finds a claim by `namespace/name`
 * @throws ClaimFault if one is missing, not generated yet, being deleted or generated for another pod
 */
export function claimsOfPod(
  pod: ClaimingPod,
  get: (key: string) => ResourceClaim | undefined,
): ReadonlyMap<string, ResourceClaim> {
  const found = new Map<string, ResourceClaim>();
  for (const each of pod.spec?.resourceClaims ?? []) {
    const claimName = claimNameOf(pod, each);
    if (claimName === "none") continue;
    if (claimName === "unknown") throw notGenerated(pod, each);
    const key = `${pod.metadata.namespace ?? ""}/${claimName.name}`;
    const claim = get(key);
    if (claim === undefined) {
      throw new ClaimFault(`could not find ResourceClaim "${key}"`);
    }
    if (claim.metadata.deletionTimestamp !== undefined) {
      throw new ClaimFault(`resourceclaim "${claimName.name}" is being deleted`);
    }
    if (claimName.isGenerated) checkClaimOwner(claim, pod);
    found.set(each.name, claim);
  }
  return found;
}

function notGenerated({ metadata }: ClaimingPod, claim: PodResourceClaim): ClaimFault {
  const pod = `pod "${metadata.namespace ?? ""}/${metadata.name}"`;
  if (claim.resourceClaimTemplateName !== undefined) {
    return new ClaimFault(`${pod}: ResourceClaim not created yet`);
  }
  const entry = `spec.resourceClaim "${claim.name}"`;
  return new ClaimFault(`${pod}, ${entry}: none of the supported fields are set`);
}

/** Whether the claim is reserved for the pod. */
export function isReservedFor(claim: ResourceClaim, pod: ApiObject): boolean {
  return (claim.status?.reservedFor ?? []).some(({ uid }) => uid === pod.metadata.uid);
}
