/** Matches volumes to claims, for the volume binder and the scheduler. */
import type { ClaimRef, PersistentVolume, PersistentVolumeClaim } from "#kinds";
import { Quantity, selectorFromLabelSelector } from "#meta";
import type { VolumeNames } from "./volume-names.ts";

/** Whether the volume is bound to the claim, or reserved for it by name. */
export function isBoundTo(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  const { claimRef } = volume.spec ?? {};
  const { namespace, name, uid } = claim.metadata;
  if (claimRef?.name !== name || claimRef?.namespace !== namespace) return false;
  return !claimRef?.uid || claimRef.uid === uid;
}

/** Volumes that match a claim, on any node. */
export interface MatchingVolumes {
  /** Volumes reserved for the claim by claimRef; the first one is preferred. */
  readonly reserved: readonly PersistentVolume[];
  /** Available volumes of its class, smallest first. */
  readonly free: readonly PersistentVolume[];
}

/** Finds volumes with sufficient size and the requested modes and attributes. */
export function matchingVolumes(
  claim: PersistentVolumeClaim,
  volumes: Iterable<PersistentVolume>,
  names: VolumeNames,
): MatchingVolumes {
  const reserved: PersistentVolume[] = [];
  const free: PersistentVolume[] = [];
  const { selector } = claim.spec ?? {};
  const labelSelector = selector === undefined ? undefined : selectorFromLabelSelector(selector);
  for (const volume of volumes) {
    if (!mayBind(claim, volume)) continue;
    if (isBoundTo(volume, claim)) reserved.push(volume);
    else if (volume.status?.phase !== "Available" || !hasAccessModes(claim, volume)) continue;
    else if (names.classOf(volume) !== names.classOf(claim)) continue;
    else if (labelSelector?.matches(volume.metadata.labels ?? {}) !== false) free.push(volume);
  }
  return { reserved, free: free.toSorted(bySizeAndName) };
}

/**
 * Selects the volume to bind; undefined = none. Among volumes with the fewest sufficient access modes: one
 * reserved for the claim, else the smallest. Claims with WaitForFirstConsumer get reserved volumes only.
 */
export function findVolume(
  claim: PersistentVolumeClaim,
  volumes: Iterable<PersistentVolume>,
  { names, isDelayed }: { readonly names: VolumeNames; readonly isDelayed: boolean },
): PersistentVolume | undefined {
  const groups = new Map<string, PersistentVolume[]>();
  for (const volume of volumes) {
    if (!hasAccessModes(claim, volume) || !mayBind(claim, volume)) continue;
    const modes = [...new Set(volume.spec?.accessModes)].sort();
    // Sorts by number of modes; one digit suffices for the four existing modes.
    const key = `${modes.length} ${modes.join()}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [volume]);
    else group.push(volume);
  }
  for (const key of [...groups.keys()].sort()) {
    const { reserved, free } = matchingVolumes(claim, groups.get(key)!, names);
    const volume = reserved[0] ?? (isDelayed ? undefined : free[0]);
    if (volume !== undefined) return volume;
  }
  return undefined;
}

/**
 * The volume with a claimRef to the claim, as binder and scheduler write it; undefined = it has one already.
 */
export function reservedFor(
  volume: PersistentVolume,
  claim: PersistentVolumeClaim,
  { boundByController }: VolumeNames,
): PersistentVolume | undefined {
  if (volume.spec?.claimRef?.uid === claim.metadata.uid) return undefined;
  const { namespace = "", name, uid, resourceVersion } = claim.metadata;
  const kind = { kind: "PersistentVolumeClaim", apiVersion: "v1" };
  const claimRef: ClaimRef = { ...kind, namespace, name, uid, resourceVersion };
  const { metadata } = volume;
  // A volume that was reserved before is not released by the controller.
  const marker = isBoundTo(volume, claim) ? {} : { [boundByController]: "yes" };
  const annotations = { ...metadata.annotations, ...marker };
  return { ...volume, metadata: { ...metadata, annotations }, spec: { ...volume.spec, claimRef } };
}

/** Reason why the volume named by a claim does not match it; undefined = it matches. */
export function mismatchOf(
  claim: PersistentVolumeClaim,
  volume: PersistentVolume,
  names: VolumeNames,
): string | undefined {
  if (volume.metadata.deletionTimestamp !== undefined) {
    return `the volume is marked for deletion ${JSON.stringify(volume.metadata.name)}`;
  }
  if (!isLargeEnough(claim, volume)) return "requested PV is too small";
  if (names.classOf(volume) !== names.classOf(claim)) return "storageClassName does not match";
  if (!hasSameAttributes(claim, volume)) return "volumeAttributesClassName does not match";
  if (!hasSameMode(claim, volume)) return "incompatible volumeMode";
  return hasAccessModes(claim, volume) ? undefined : "incompatible accessMode";
}

/** Whether claim and volume have the same volumeMode. */
export function hasSameMode(claim: PersistentVolumeClaim, volume: PersistentVolume): boolean {
  return (claim.spec?.volumeMode ?? "Filesystem") === (volume.spec?.volumeMode ?? "Filesystem");
}

/** Whether the volume is not bound to another claim, and satisfies this one apart from class and access. */
function mayBind(claim: PersistentVolumeClaim, volume: PersistentVolume): boolean {
  if (volume.spec?.claimRef !== undefined && !isBoundTo(volume, claim)) return false;
  if (volume.metadata.deletionTimestamp !== undefined) return false;
  return (
    isLargeEnough(claim, volume) && hasSameMode(claim, volume) && hasSameAttributes(claim, volume)
  );
}

/** Whether the volume has all access modes of the claim. */
function hasAccessModes(claim: PersistentVolumeClaim, volume: PersistentVolume): boolean {
  const modes = volume.spec?.accessModes ?? [];
  return (claim.spec?.accessModes ?? []).every((mode) => modes.includes(mode));
}

/** Whether claim and volume have the same VolumeAttributesClass. */
function hasSameAttributes(claim: PersistentVolumeClaim, volume: PersistentVolume): boolean {
  const requested = claim.spec?.volumeAttributesClassName ?? "";
  return requested === (volume.spec?.volumeAttributesClassName ?? "");
}

function isLargeEnough(claim: PersistentVolumeClaim, volume: PersistentVolume): boolean {
  const requested = Quantity.parse(claim.spec?.resources?.requests?.["storage"] ?? "0");
  return sizeOf(volume).compare(requested) >= 0;
}

/** `capacity.storage` of a volume. */
export function sizeOf({ spec }: PersistentVolume): Quantity {
  return Quantity.parse(spec?.capacity?.["storage"] ?? "0");
}

function bySizeAndName(a: PersistentVolume, b: PersistentVolume): number {
  const difference = sizeOf(a).compare(sizeOf(b));
  if (difference !== 0) return difference;
  return a.metadata.name < b.metadata.name ? -1 : 1;
}
