/** Which volume suits a claim. */
import type { PersistentVolume, PersistentVolumeClaim } from "#kinds";
import { Quantity } from "#meta";
import { selectorOf } from "../../owners/selectors.ts";
import type { VolumeNames } from "./volume-names.ts";

/** Whether the volume is bound to the claim, or reserved for it by name. */
export function isBoundTo(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  const { claimRef } = volume.spec ?? {};
  const { namespace, name, uid } = claim.metadata;
  if (claimRef?.name !== name || claimRef?.namespace !== namespace) return false;
  return !claimRef?.uid || claimRef.uid === uid;
}

/**
 * The volume to bind, undefined = none: of the volumes with the fewest access modes that suffice,
 * one that is reserved for the claim, else the smallest. Claims whose binding waits for a consumer
 * get reserved volumes only.
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
    // Fewest modes first; one digit suffices for the four modes that exist.
    const key = `${modes.length} ${modes.join()}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [volume]);
    else group.push(volume);
  }
  for (const key of [...groups.keys()].sort()) {
    const group = groups.get(key)!;
    const reserved = group.find((volume) => isBoundTo(volume, claim));
    if (reserved !== undefined) return reserved;
    if (isDelayed) continue;
    const free = group.filter((volume) => isFree(claim, volume, names));
    const [best] = free.toSorted(bySizeAndName);
    if (best !== undefined) return best;
  }
  return undefined;
}

/** Why a volume that the claim names does not suit it; undefined = it does. */
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

export function hasSameMode(claim: PersistentVolumeClaim, volume: PersistentVolume): boolean {
  return (claim.spec?.volumeMode ?? "Filesystem") === (volume.spec?.volumeMode ?? "Filesystem");
}

function mayBind(claim: PersistentVolumeClaim, volume: PersistentVolume): boolean {
  if (volume.spec?.claimRef !== undefined && !isBoundTo(volume, claim)) return false;
  if (volume.metadata.deletionTimestamp !== undefined) return false;
  return (
    isLargeEnough(claim, volume) && hasSameMode(claim, volume) && hasSameAttributes(claim, volume)
  );
}

function isFree(
  claim: PersistentVolumeClaim,
  volume: PersistentVolume,
  names: VolumeNames,
): boolean {
  if (volume.status?.phase !== "Available") return false;
  if (names.classOf(volume) !== names.classOf(claim)) return false;
  const { selector } = claim.spec ?? {};
  return selector === undefined || selectorOf(selector).matches(volume.metadata.labels ?? {});
}

function hasAccessModes(claim: PersistentVolumeClaim, volume: PersistentVolume): boolean {
  const modes = volume.spec?.accessModes ?? [];
  return (claim.spec?.accessModes ?? []).every((mode) => modes.includes(mode));
}

function hasSameAttributes(claim: PersistentVolumeClaim, volume: PersistentVolume): boolean {
  const wanted = claim.spec?.volumeAttributesClassName ?? "";
  return wanted === (volume.spec?.volumeAttributesClassName ?? "");
}

function isLargeEnough(claim: PersistentVolumeClaim, volume: PersistentVolume): boolean {
  const requested = Quantity.parse(claim.spec?.resources?.requests?.["storage"] ?? "0");
  return sizeOf(volume).compare(requested) >= 0;
}

function sizeOf({ spec }: PersistentVolume): Quantity {
  return Quantity.parse(spec?.capacity?.["storage"] ?? "0");
}

function bySizeAndName(a: PersistentVolume, b: PersistentVolume): number {
  const difference = sizeOf(a).compare(sizeOf(b));
  if (difference !== 0) return difference;
  return a.metadata.name < b.metadata.name ? -1 : 1;
}
