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

/** PersistentVolumeClaims of a StatefulSet's pods, and their owners by its retention policy. */

export function claimName(
  { metadata }: StatefulSet,
  template: VolumeClaimTemplate,
  ordinal: number,
): string {
  return `${template.metadata?.name}-${metadata.name}-${ordinal}`;
}

/** The claims to create for an ordinal. */
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

/** A pod of the StatefulSet; uid undefined = not created yet. */
export interface ClaimPod {
  readonly name: string;
  readonly uid: string | undefined;
  /** Whether its ordinal is within `spec.replicas`. */
  readonly isInRange: boolean;
}

/**
 * Owner references that a claim should have; undefined = no change. By the retention policy the claim is
 * owned by the StatefulSet (`whenDeleted: Delete`) or by its condemned pod (`whenScaled: Delete`). Stale
 * references to an earlier StatefulSet or pod of the name are left to the garbage collector.
 */
export function wantedClaimOwners(
  { metadata }: PersistentVolumeClaim,
  set: StatefulSet,
  pod: ClaimPod,
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

/** Whether another controller owns the claim: then the retention policy is ignored. */
export function hasOtherController(
  owners: readonly OwnerReference[],
  set: StatefulSet,
  pod: ClaimPod,
): boolean {
  const { whenDeleted, whenScaled } = policyOf(set);
  if (whenDeleted === "Retain" && whenScaled === "Retain") return false;
  return owners.some(
    ({ uid, controller }) => controller === true && uid !== set.metadata.uid && uid !== pod.uid,
  );
}

/** Whether an earlier pod of this name still owns the claim, which will be deleted with that pod. */
export function isStaleClaim(
  { metadata }: PersistentVolumeClaim,
  set: StatefulSet,
  name: string,
): boolean {
  if (policyOf(set).whenScaled === "Retain") return false;
  return metadata.ownerReferences?.some((ref) => refersTo(ref, pods, name)) ?? false;
}

function ownersByPolicy(set: StatefulSet, pod: ClaimPod): readonly OwnerReference[] {
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
