import { type Clock, deepEqual, deepEqualInSlices, type Slices } from "#base";
import { badRequest, type KindRules, type ObjectMeta, type Resource } from "#meta";
import { semanticEquality } from "#schema";
import type { ResourceRequest } from "../contract.ts";
import type { RegistryContext } from "../context.ts";

/** Removes the fields of a new object that only the server sets. */
export function resetSystemFields(metadata: any): void {
  delete metadata.uid;
  delete metadata.creationTimestamp;
  delete metadata.deletionTimestamp;
  delete metadata.deletionGracePeriodSeconds;
  delete metadata.selfLink;
}

/** Sets uid and creationTimestamp of a new object, and removes other fields that only the server sets. */
export function fillSystemFields(registry: RegistryContext, metadata: any): void {
  resetSystemFields(metadata);
  metadata.uid = registry.identities.uid();
  metadata.creationTimestamp = registry.timestamp();
}

/** Sets uid and creationTimestamp if they are absent. */
export function fillAbsentSystemFields(registry: RegistryContext, metadata: any): void {
  metadata.uid ||= registry.identities.uid();
  metadata.creationTimestamp ??= registry.timestamp();
}

/** RFC 3339 in whole seconds, as Kubernetes writes metav1.Time. */
export function timestamp(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;
}

/** A function that returns the current `timestamp`, formatted at most once per second. */
export function secondTimestamps(clock: Clock): () => string {
  let second = Number.NaN;
  let text = "";
  return () => {
    const now = Math.floor(clock.now() / 1000);
    if (now !== second) text = timestamp(now * 1000);
    second = now;
    return text;
  };
}

/** Sets the namespace of the path. Throws 400 if the object names another one. */
export function matchNamespace(request: ResourceRequest, metadata: any): void {
  const named = metadata.namespace ?? "";
  if (request.resource.kind.scope === "Cluster") {
    delete metadata.namespace;
    return;
  }
  if (named === "" || named === request.namespace) {
    metadata.namespace = request.namespace;
    return;
  }
  throw badRequest(
    "the namespace of the provided object does not match the namespace sent on the request",
  );
}

/** Throws 400 unless the object's name is that of the path. */
export function matchName(request: ResourceRequest, metadata: any): void {
  const named = metadata.name ?? "";
  if (named === request.name) return;
  throw badRequest(
    named === ""
      ? `the name of the object (${request.name} based on URL) was undeterminable: ` +
          "name must be provided"
      : `the name of the object (${named}) does not match the name on the URL (${request.name})`,
  );
}

/** Removes duplicate owner references and adds a warning, which contains `when`. */
export function dedupeOwnerReferences(metadata: any, when: string, warnings: string[]): void {
  const owners: NonNullable<ObjectMeta["ownerReferences"]> = metadata.ownerReferences ?? [];
  if (owners.length < 2) return;
  const seen = new Set<string>();
  const duplicateUids = new Set<string>();
  const unique = owners.filter((owner) => {
    const { apiVersion, kind, name, uid, controller, blockOwnerDeletion } = owner;
    const text = JSON.stringify([apiVersion, kind, name, uid, controller, blockOwnerDeletion]);
    const isNew = !seen.has(text);
    if (isNew) seen.add(text);
    else duplicateUids.add(uid);
    return isNew;
  });
  if (duplicateUids.size === 0) return;
  metadata.ownerReferences = unique;
  warnings.push(
    `.metadata.ownerReferences contains duplicate entries${when}; API server dedups owner ` +
      "references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; " +
      `duplicate UID(s) observed: ${[...duplicateUids].join(", ")}`,
  );
}

/** Sets generation 1 if the kind has a generation. */
export function initializeGeneration(rules: KindRules, metadata: any): void {
  if (rules.generation) metadata.generation = 1;
}

/** Copies the fields that an update cannot change from the stored object's metadata. */
export function preserveSystemFields(metadata: any, old: any): void {
  if (!metadata.uid) copy(metadata, old, "uid");
  copy(metadata, old, "creationTimestamp");
  if (old.deletionTimestamp) copy(metadata, old, "deletionTimestamp");
  if (metadata.deletionGracePeriodSeconds === undefined) {
    copy(metadata, old, "deletionGracePeriodSeconds");
  }
  copy(metadata, old, "generation");
  delete metadata.selfLink;
}

/** Copies one field, deleting it where the stored object has none. */
function copy(metadata: any, old: any, field: string): void {
  if (old[field] === undefined) delete metadata[field];
  else metadata[field] = old[field];
}

interface GenerationChange {
  readonly object: any;
  readonly old: any;
  /** Compares the objects in slices. */
  readonly isLarge: boolean;
}

/**
 * Increments the generation if anything but metadata and status changes, unless a hook has set it.
 * Quantities compare by their value, and an empty list equals an absent one, unless the kind's rule is
 * `exact`.
 */
export function* updateGeneration(
  { kind, hub }: Resource,
  { object, old, isLarge }: GenerationChange,
): Slices<void> {
  if (!kind.rules.generation) return;
  const before = BigInt(old.metadata.generation ?? 0);
  if (BigInt(object.metadata.generation ?? 0) !== before) return;
  const { metadata, status } = old;
  const desired = { ...object, metadata, status };
  if (isLarge ? yield* deepEqualInSlices(desired, old) : deepEqual(desired, old)) return;
  yield;
  if (kind.rules.generation !== "exact" && semanticEquality(hub.struct)(desired, old)) return;
  object.metadata.generation = nextGeneration(before);
}

/** The generation plus one, as a number while that is exact. */
export function nextGeneration(generation: bigint): number | bigint {
  const next = generation + 1n;
  return next <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(next) : next;
}
