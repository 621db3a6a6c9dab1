import type { ApiObject, Draft, Handle, OwnerReference } from "#client";
import {
  type PersistentVolumeClaim,
  type Pod,
  pods,
  type StatefulSet,
  statefulSets,
  type VolumeClaimTemplate,
} from "#kinds";
import { groupVersionOf } from "#meta";
import { controllerRef } from "../../owners/controller-ref.ts";

/** The PersistentVolumeClaims of a StatefulSet's pods, and who owns them by its retention policy. */

export function claimName(
  { metadata }: StatefulSet,
  template: VolumeClaimTemplate,
  ordinal: number,
): string {
  return `${template.metadata?.name}-${metadata.name}-${ordinal}`;
}

/** The claims of an ordinal as they are created. */
export function claimDrafts(
  set: StatefulSet,
  ordinal: number,
): readonly (Draft<PersistentVolumeClaim> & { readonly metadata: { readonly name: string } })[] {
  const { namespace = "" } = set.metadata;
  return (set.spec.volumeClaimTemplates ?? []).map((template) => ({
    ...template,
    metadata: {
      ...template.metadata,
      namespace,
      name: claimName(set, template, ordinal),
      labels: { ...template.metadata?.labels, ...set.spec.selector.matchLabels },
    },
  }));
}

/** A pod of the StatefulSet; without a uid if it does not exist yet. */
export interface ClaimUser {
  readonly name: string;
  readonly uid: string | undefined;
  /** Whether the StatefulSet wants its ordinal. */
  readonly isInRange: boolean;
}

/**
 * The owners that a claim should have; undefined = it has them. The StatefulSet owns claims that are
 * deleted with it, a pod beyond the replicas those that are deleted with it. References to a
 * StatefulSet or pod of that name that is gone are left to the garbage collector.
 */
export function wantedClaimOwners(
  { metadata }: PersistentVolumeClaim,
  set: StatefulSet,
  pod: ClaimUser,
): readonly OwnerReference[] | undefined {
  const owners = metadata.ownerReferences ?? [];
  const ofSet = (ref: OwnerReference) => refersTo(ref, statefulSets, set.metadata.name);
  const ofPod = (ref: OwnerReference) => refersTo(ref, pods, pod.name);
  const isStale = owners.some(
    (ref) => (ofSet(ref) && ref.uid !== set.metadata.uid) || (ofPod(ref) && ref.uid !== pod.uid),
  );
  if (isStale) return undefined;
  const own = owners.filter((ref) => ref.uid === set.metadata.uid || ref.uid === pod.uid);
  const others = owners.filter((ref) => !ofSet(ref) && !ofPod(ref));
  if (hasOtherController(owners, set, pod)) return own.length === 0 ? undefined : others;
  const wanted = ownersByPolicy(set, pod);
  const isSame =
    own.every(({ controller }) => controller === true) &&
    own.length === wanted.length &&
    wanted.every(({ uid }) => own.some((ref) => ref.uid === uid));
  return isSame ? undefined : [...others, ...wanted];
}

/** Whether another controller owns the claim, so that the retention policy does not apply. */
export function hasOtherController(
  owners: readonly OwnerReference[],
  set: StatefulSet,
  pod: ClaimUser,
): boolean {
  const { whenDeleted, whenScaled } = policyOf(set);
  if (whenDeleted === "Retain" && whenScaled === "Retain") return false;
  return owners.some(
    ({ uid, controller }) => controller === true && uid !== set.metadata.uid && uid !== pod.uid,
  );
}

/** Whether a claim still belongs to an earlier pod of this name, with which it is deleted. */
export function isClaimStale(
  { metadata }: PersistentVolumeClaim,
  set: StatefulSet,
  name: string,
): boolean {
  if (policyOf(set).whenScaled === "Retain") return false;
  return metadata.ownerReferences?.some((ref) => refersTo(ref, pods, name)) ?? false;
}

function ownersByPolicy(set: StatefulSet, pod: ClaimUser): readonly OwnerReference[] {
  const { whenDeleted, whenScaled } = policyOf(set);
  const isCondemned = whenScaled === "Delete" && !pod.isInRange;
  if (isCondemned) return pod.uid === undefined ? [] : [podRef(pod.name, pod.uid)];
  return whenDeleted === "Delete" ? [controllerRef(statefulSets, set)] : [];
}

function podRef(name: string, uid: string): OwnerReference {
  const pod: Pod = { metadata: { name, uid, resourceVersion: "" } };
  return controllerRef(pods, pod);
}

function policyOf({ spec }: StatefulSet) {
  const { whenDeleted = "Retain", whenScaled = "Retain" } =
    spec.persistentVolumeClaimRetentionPolicy ?? {};
  return { whenDeleted, whenScaled };
}

function refersTo(ref: OwnerReference, resource: Handle<ApiObject>, name: string): boolean {
  const apiVersion = groupVersionOf(resource.group, resource.version);
  return ref.apiVersion === apiVersion && ref.kind === resource.kind && ref.name === name;
}
