import { difference, hasPath, setOf } from "./fieldpath/set.ts";
import { managerIdentifier, type ManagedFieldsEntry, type Manager, Managers } from "./managers.ts";
import type { PathElement } from "./fieldpath/path-element.ts";

/**
 * The scale endpoint shows one field of an object as an object of its own. Ownership goes through
 * it: the owner of the number of replicas owns it in the Scale as well, and the other way round.
 */
export interface Replicas {
  /** By version of the object: the path of its number of replicas. */
  readonly paths: ReadonlyMap<string, readonly PathElement[]>;
  /** The version of the object that the request speaks. */
  readonly apiVersion: string;
}

const scaleVersion = "autoscaling/v1";
const inScale: readonly PathElement[] = ["f:spec", "f:replicas"];

type Entries = readonly ManagedFieldsEntry[] | null | undefined;

/**
 * The entries of the Scale that belong to those of the object.
 *
 * @throws ManagedFieldsError
 */
export function toSubresource(entries: Entries, { paths }: Replicas): ManagedFieldsEntry[] {
  const scaled = new Managers();
  for (const [, manager] of Managers.read(entries)) {
    const path = paths.get(manager.apiVersion);
    if (path === undefined || !hasPath(manager.fields, path)) continue;
    scaled.put({ ...manager, apiVersion: scaleVersion, fields: setOf(inScale) });
  }
  return scaled.entries();
}

/**
 * The entries of the object after those of its Scale have changed: who lost the replicas there
 * loses them here, and who is new there has an entry, without a time, here.
 *
 * @throws ManagedFieldsError
 */
export function toParent(
  entries: Entries,
  scaled: Entries,
  { paths, apiVersion }: Replicas,
): ManagedFieldsEntry[] {
  const owners = new Map<string, Manager>();
  for (const [, manager] of Managers.read(scaled))
    owners.set(identifierWithoutVersion(manager), manager);
  const parent = Managers.read(entries);
  for (const [id, manager] of parent) {
    const path = paths.get(manager.apiVersion);
    if (path === undefined) parent.delete(id);
    else if (!hasPath(manager.fields, path)) continue;
    else if (owners.has(identifierWithoutVersion(manager)))
      owners.delete(identifierWithoutVersion(manager));
    else parent.setFields(id, difference(manager.fields, setOf(path)));
  }
  const own = paths.get(apiVersion);
  for (const manager of owners.values()) {
    if (own === undefined || !hasPath(manager.fields, inScale)) continue;
    parent.put({ ...manager, apiVersion, fields: setOf(own), time: undefined });
  }
  return parent.entries();
}

/** A manager whatever version it speaks. */
function identifierWithoutVersion({ name, operation, subresource }: Manager): string {
  return managerIdentifier({ name, operation, subresource, apiVersion: "" });
}
