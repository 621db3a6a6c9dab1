import { namespaceOf, type PersistentVolumeClaim, type Pod } from "#kinds";

/** A claim that a pod uses. */
export interface UsedClaim {
  readonly name: string;
  /** Whether it belongs to a generic ephemeral volume. */
  readonly isEphemeral: boolean;
}

/** Claims of the pod's volumes; those of ephemeral volumes are named `<pod>-<volume>`. */
export function usedClaims({ metadata, spec }: Pod): readonly UsedClaim[] {
  return (spec?.volumes ?? []).flatMap((each): readonly UsedClaim[] => {
    const { name: volume, persistentVolumeClaim, ephemeral } = each;
    if (persistentVolumeClaim !== undefined) {
      return [{ name: persistentVolumeClaim.claimName, isEphemeral: false }];
    }
    const name = `${metadata.name}-${volume}`;
    return ephemeral === undefined ? [] : [{ name, isEphemeral: true }];
  });
}

/** Names of the pod's claims, except those of ephemeral volumes. */
export function sharedClaims(pod: Pod): readonly string[] {
  return usedClaims(pod).flatMap(({ name, isEphemeral }) => (isEphemeral ? [] : [name]));
}

export function usesClaim(pod: Pod, claim: PersistentVolumeClaim): boolean {
  if (namespaceOf(pod) !== namespaceOf(claim)) return false;
  return usedClaims(pod).some(({ name }) => name === claim.metadata.name);
}

export function notFound(name: string): string {
  return `persistentvolumeclaim ${JSON.stringify(name)} not found`;
}

/** Error if a claim does not belong to the pod's ephemeral volume of that name; undefined = it does. */
export function foreignClaim(pod: Pod, claim: PersistentVolumeClaim): string | undefined {
  const owner = claim.metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (owner?.uid === pod.metadata.uid) return undefined;
  const namespace = namespaceOf(pod);
  const names = [claim, pod].map(({ metadata }) => `${namespace}/${metadata.name}`);
  return `PVC ${names[0]} was not created for pod ${names[1]} (pod is not owner)`;
}
