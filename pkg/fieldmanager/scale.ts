import { difference, hasPath, setOf } from "./fieldpath/set.ts";
import { managerIdentifier, type ManagedFieldsEntry, type Manager, Managers } from "./managers.ts";
import type { PathElement } from "./fieldpath/path-element.ts";

/**
 * Maps managedFields between an object and its scale subresource: the manager of the object's replicas
 * field manages spec.replicas of the Scale, and vice versa.
 */
export interface ReplicasField {
  /** The path of the replicas field by apiVersion of the object. */
  readonly paths: ReadonlyMap<string, readonly PathElement[]>;
  /** The version of the object in the request. */
  readonly apiVersion: string;
}

const scaleVersion = "autoscaling/v1";
const scaleReplicasPath: readonly PathElement[] = ["f:spec", "f:replicas"];

type Entries = readonly ManagedFieldsEntry[] | null | undefined;

/**
 * The managedFields of the Scale, from those of the object.
 *
 * @throws ManagedFieldsError
 */
export function toSubresource(entries: Entries, { paths }: ReplicasField): ManagedFieldsEntry[] {
  const scaled = new Managers();
  for (const [, manager] of Managers.read(entries)) {
    const path = paths.get(manager.apiVersion);
    if (path === undefined || !hasPath(manager.fields, path)) continue;
    scaled.put({ ...manager, apiVersion: scaleVersion, fields: setOf(scaleReplicasPath) });
  }
  return scaled.entries();
}

/**
 * The managedFields of the object after a write to its Scale, whose managedFields are now `scaled`: a
 * manager that lost the replicas in the Scale loses them in the object, and a manager that is new in
 * the Scale gets an entry, without a time, in the object.
 *
 * @throws ManagedFieldsError
 */
export function toParent(
  entries: Entries,
  scaled: Entries,
  { paths, apiVersion }: ReplicasField,
): ManagedFieldsEntry[] {
  const added = new Map<string, Manager>();
  for (const [, manager] of Managers.read(scaled)) {
    added.set(identifierWithoutVersion(manager), manager);
  }
  const parent = Managers.read(entries);
  for (const [id, manager] of parent) {
    const path = paths.get(manager.apiVersion);
    if (path === undefined) parent.delete(id);
    else if (!hasPath(manager.fields, path)) continue;
    else if (added.delete(identifierWithoutVersion(manager))) continue;
    else parent.setFields(id, difference(manager.fields, setOf(path)));
  }
  const requestPath = paths.get(apiVersion);
  for (const manager of added.values()) {
    if (requestPath === undefined || !hasPath(manager.fields, scaleReplicasPath)) continue;
    parent.put({ ...manager, apiVersion, fields: setOf(requestPath), time: undefined });
  }
  return parent.entries();
}

/** Identifies a manager independently of the version of its entry. */
function identifierWithoutVersion({ name, operation, subresource }: Manager): string {
  return managerIdentifier({ name, operation, subresource, apiVersion: "" });
}
