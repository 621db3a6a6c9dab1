import { setImmediate } from "node:timers/promises";
import { deepClone } from "#base";
import { conflict, notFound, type Resource, type Status } from "#meta";
import type { Entry } from "#storage";
import { runHandlers } from "../admission/handler.ts";
import { deleteOperationOptions } from "../admission/options.ts";
import type { DeleteResponse, DeleteOptions, ResourceRequest } from "../contract.ts";
import type { RegistryContext } from "../context.ts";
import { checkDeleteOptions } from "./delete-options.ts";
import { gracefulDeletion } from "./graceful.ts";
import { type AttemptResult, type Conflict, retryOnConflict } from "../write/write-conflict.ts";
import { isNamespace, namespaceLifecycle } from "../admission/namespace-lifecycle.ts";
import { nextGeneration, timestamp } from "../write/metadata.ts";
import { releaseAllocations } from "../allocation/allocation-transaction.ts";
import { encodeStored, storageKey, setResourceVersion, StoredItem } from "../codec/stored.ts";
import { isDecodable, deleteUnreadable, notCorrupt } from "./unreadable.ts";

/**
 * DELETE. An object with finalizers or a grace period is only marked with a deletionTimestamp; it is
 * removed when its last finalizer is, and its node confirms the end of the grace period. All other
 * objects are removed immediately.
 */

/** Orphan propagation: the garbage collector removes it once no dependent refers to the object. */
const orphanFinalizer = "orphan";
/** Foreground propagation: the garbage collector removes it once the dependents are deleted. */
const foregroundFinalizer = "foregroundDeletion";

/** Deletes one object. `ofCollection`: the request is a DELETE of the collection. Throws 404 and 409. */
export async function deleteObject(
  registry: RegistryContext,
  request: ResourceRequest,
  options: DeleteOptions,
  { ofCollection = false }: { readonly ofCollection?: boolean } = {},
): Promise<DeleteResponse> {
  const { dryRun, ignoreReadError = false } = options;
  const raw = { ...options, dryRun: dryRun ? ["All"] : [], ignoreReadError };
  checkDeleteOptions(raw, registry.catalog.domain);
  const operation = { operation: "delete", options: deleteOperationOptions(options) } as const;
  const attributes = { ...operation, dryRun, request, object: undefined, ofCollection };
  // Runs first, and also for unreadable objects, which the other handlers never see.
  await namespaceLifecycle(registry, { ...attributes, old: undefined });
  // Only a read of the store tells that an object is unreadable.
  const optimistic = !dryRun && !ignoreReadError;
  const target = { key: storageKey(request), context: request.context, optimistic };
  return retryOnConflict(registry, target, async (entry) => {
    if (entry === undefined) throw notFound(request.resource, request.name);
    const current = StoredItem.of(registry, request, entry);
    if (ignoreReadError) {
      if (isDecodable(current)) throw notCorrupt(request);
      return deleteUnreadableObject(registry, request, entry);
    }
    const warnings: string[] = [];
    const steps = [...registry.mutating, ...registry.validating];
    await runHandlers(steps, { ...attributes, old: current.object }, warnings);
    checkPreconditions(request, current, options);
    const outcome = await attemptDeletion(registry, request, { options, entry, current });
    if (!("response" in outcome)) return outcome;
    return { ...outcome, response: { ...outcome.response, warnings } };
  });
}

async function deleteUnreadableObject(
  registry: RegistryContext,
  request: ResourceRequest,
  entry: Entry,
): Promise<Outcome> {
  if (await deleteUnreadable(registry, request, entry)) {
    return { response: { status: deletedStatus(request, undefined) }, isStored: true };
  }
  const { entry: current } = await registry.store.get(entry.key, request.context);
  return { current };
}

/** One attempt to delete the object as stored. */
interface Deletion {
  readonly options: DeleteOptions;
  readonly entry: Entry;
  readonly current: StoredItem;
}

type Outcome = AttemptResult<DeleteResponse>;

/** The result of storing an object with a deletionTimestamp. */
interface Marked {
  readonly response: { readonly item: StoredItem; readonly pending: true };
  readonly isStored: boolean;
}

function attemptDeletion(
  registry: RegistryContext,
  request: ResourceRequest,
  deletion: Deletion,
): Promise<Outcome> {
  const { kind } = request.resource;
  const isFirst = !deletion.current.object.metadata.deletionTimestamp;
  if (isNamespace(request.resource)) return deleteNamespace(registry, request, deletion);
  if (kind.hooks.markDeleting !== undefined && isFirst) {
    return markOnly(registry, request, deletion);
  }
  return deleteOrMark(registry, request, deletion);
}

/** First deletion of a kind whose controller completes it by removing the kind's finalizer. */
function markOnly(
  registry: RegistryContext,
  request: ResourceRequest,
  deletion: Deletion,
): Promise<Outcome> {
  const object = deepClone(deletion.current.object);
  const now = registry.timestamp();
  object.metadata.deletionTimestamp = now;
  const { api } = registry.catalog.domain;
  request.resource.kind.hooks.markDeleting?.(object, { api, now });
  return storeMarked(registry, request, { ...deletion, object });
}

/** Deletes the object, or marks it if it has finalizers or a grace period. */
async function deleteOrMark(
  registry: RegistryContext,
  request: ResourceRequest,
  deletion: Deletion,
): Promise<Outcome> {
  const { current, options } = deletion;
  const { object } = current;
  const graceful = gracefulDeletion(request, object, { options, now: registry.clock.now() });
  if (graceful?.step === "pending") {
    return { response: { item: current, pending: true }, isStored: false };
  }
  const finalizers = finalizersFor(request.resource, object.metadata.finalizers ?? [], options);
  if (graceful?.step === "marked") {
    const { finalizers: _before, ...metadata } = graceful.metadata;
    if (finalizers.length > 0) metadata.finalizers = finalizers;
    const marked = { ...object, metadata };
    const outcome = await storeMarked(registry, request, { ...deletion, object: marked });
    if (finalizers.length > 0 || graceful.seconds > 0 || "current" in outcome) return outcome;
    if (!outcome.isStored && !options.dryRun) return deleteFromStore(registry, request, deletion);
    const response = await deleteMarked(registry, request, { options, ...outcome });
    return { response, isStored: outcome.isStored };
  }
  if (finalizers.length === 0) return deleteFromStore(registry, request, deletion);
  const marked = { ...object, metadata: { ...object.metadata, finalizers } };
  markAsDeleting(marked.metadata, registry.clock.now());
  return storeMarked(registry, request, { ...deletion, object: marked });
}

/**
 * The first deletion of a Namespace marks it as Terminating; the namespace controller then deletes its
 * content and removes the finalizers of its spec. It has no deletionGracePeriodSeconds.
 */
async function deleteNamespace(
  registry: RegistryContext,
  request: ResourceRequest,
  deletion: Deletion,
): Promise<Outcome> {
  const { object } = deletion.current;
  const { metadata, status } = object;
  if (metadata.deletionTimestamp) {
    const emptied = (object.spec.finalizers ?? []).length === 0;
    if (emptied) return deleteOrMark(registry, request, deletion);
    return { response: { item: deletion.current, pending: true }, isStored: false };
  }
  const wanted = finalizersFor(request.resource, metadata.finalizers ?? [], deletion.options);
  const { finalizers: _finalizers, ...others } = metadata;
  const marked = {
    ...object,
    metadata: {
      ...others,
      deletionTimestamp: registry.timestamp(),
      ...(wanted.length > 0 ? { finalizers: wanted } : {}),
    },
    status: { ...status, phase: "Terminating" },
  };
  const outcome = await storeMarked(registry, request, { ...deletion, object: marked });
  registry.namespaces.invalidate(request.name);
  return outcome;
}

/** Stores the marked object, unless it is unchanged. */
async function storeMarked(
  registry: RegistryContext,
  request: ResourceRequest,
  { options, entry, object }: Deletion & { readonly object: any },
): Promise<Marked | Conflict> {
  const value = encodeStored(registry, request.resource, object);
  const respondWith = (written: Entry, isStored: boolean): Marked => {
    const changed = { ...object, metadata: { ...object.metadata } };
    setResourceVersion(changed, written.modRevision);
    const item = new StoredItem(registry, request, written, { object: changed, isEncoded: true });
    return { response: { item, pending: true }, isStored };
  };
  if (options.dryRun) return respondWith({ ...entry, value }, false);
  if (Buffer.compare(value, entry.value) === 0) return respondWith(entry, false);
  const { signal } = request.context;
  const outcome = await registry.store.update(entry.key, entry.modRevision, value, { signal });
  return outcome.done ? respondWith(outcome.entry, true) : { current: outcome.current };
}

/** Removes the object from the store and releases its allocations. */
async function deleteFromStore(
  registry: RegistryContext,
  request: ResourceRequest,
  { options, entry, current }: Deletion,
): Promise<Outcome> {
  if (options.dryRun) return { response: deletedResponse(request, current), isStored: false };
  const { key, modRevision } = entry;
  const outcome = await registry.store.delete(key, modRevision, request.context);
  if (!outcome.done) return { current: outcome.current };
  if (isNamespace(request.resource)) registry.namespaces.invalidate(request.name);
  await releaseAllocations(registry, request, current.object);
  return { response: deletedResponse(request, current, outcome.revision), isStored: true };
}

/**
 * Removes an object with a grace period of zero, after it was marked; retries if another writer changes
 * it. That another writer removes it first is a success, too.
 */
async function deleteMarked(
  registry: RegistryContext,
  request: ResourceRequest,
  { options, response }: Marked & { readonly options: DeleteOptions },
): Promise<DeleteResponse> {
  const { item } = response;
  let { revision } = item;
  while (!options.dryRun) {
    const outcome = await registry.store.delete(item.key, revision, request.context);
    if (outcome.done) {
      await releaseAllocations(registry, request, item.object);
      // Watchers receive the deletion in the turn after the mark (WatchDispatcher); authorizers and
      // admission of this process follow watches, and must know of it before the client's next request.
      await setImmediate();
      return deletedResponse(request, item, outcome.revision);
    }
    if (outcome.current === undefined) break;
    revision = outcome.current.modRevision;
  }
  return deletedResponse(request, item);
}

/**
 * The response to a deletion: a Success Status, or for some kinds the object, at the revision of
 * its deletion if it is gone.
 */
function deletedResponse(
  { resource, name }: ResourceRequest,
  item: StoredItem,
  deletedAt?: number,
): DeleteResponse {
  if (!resource.kind.rules.deleteReturnsObject) {
    return { status: deletedStatus({ resource, name }, item.object.metadata.uid) };
  }
  const deleted = deletedAt === undefined ? item : item.deletedAt(deletedAt);
  return { item: deleted, pending: false };
}

function deletedStatus(
  { resource, name }: Pick<ResourceRequest, "resource" | "name">,
  uid: string | undefined,
): Status {
  const { group, plural: kind } = resource;
  const named = { name, ...(group === "" ? {} : { group }), kind };
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: uid === undefined ? named : { ...named, uid },
  };
}

/** The object's finalizers, with the one of the propagation policy in place of the other's. */
function finalizersFor(
  { kind }: Resource,
  finalizers: readonly string[],
  options: DeleteOptions,
): readonly string[] {
  const others = finalizers.filter((f) => f !== orphanFinalizer && f !== foregroundFinalizer);
  const wanted = propagationOf(finalizers, options, kind.rules.defaultPropagation);
  // Events have no dependents, so the garbage collector would never remove the finalizer.
  if (kind.rules.expires || wanted === "background") {
    return others.length === finalizers.length ? finalizers : others;
  }
  const one = wanted === "orphan" ? orphanFinalizer : foregroundFinalizer;
  const isUnchanged = finalizers.includes(one) && others.length === finalizers.length - 1;
  return isUnchanged ? finalizers : [...others, one];
}

/** The policy of the options, else of the object's finalizers, else the default of the kind. */
function propagationOf(
  finalizers: readonly string[],
  { orphanDependents, propagationPolicy }: DeleteOptions,
  defaultPropagation: "background" | "orphan",
): "background" | "orphan" | "foreground" {
  if (orphanDependents !== undefined) return orphanDependents ? "orphan" : "background";
  switch (propagationPolicy) {
    case "Orphan":
      return "orphan";
    case "Background":
      return "background";
    case "Foreground":
      return "foreground";
    default:
      if (finalizers.includes(orphanFinalizer)) return "orphan";
      return finalizers.includes(foregroundFinalizer) ? "foreground" : defaultPropagation;
  }
}

/** Sets the deletionTimestamp, a grace period of zero and, the first time, the next generation. */
function markAsDeleting(metadata: any, now: number): void {
  const generation = BigInt(metadata.generation ?? 0);
  if (metadata.deletionGracePeriodSeconds === undefined && generation > 0n) {
    metadata.generation = nextGeneration(generation);
  }
  const at = metadata.deletionTimestamp;
  if (!at || Date.parse(at) > now) metadata.deletionTimestamp = timestamp(now);
  metadata.deletionGracePeriodSeconds = 0;
}

/** Whether a terminating object has no finalizers and no grace period left. */
export function isReadyToDelete(resource: Resource, object: any): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds, finalizers } = object.metadata;
  if (!deletionTimestamp || (finalizers ?? []).length > 0) return false;
  if (isNamespace(resource) && (object.spec.finalizers ?? []).length > 0) return false;
  return BigInt(deletionGracePeriodSeconds ?? 0) === 0n;
}

/** Throws 409 if uid or resourceVersion differ; the message is that of rest.BeforeDelete. */
export function checkDeletePreconditions(
  { resource, name }: ResourceRequest,
  current: StoredItem,
  { preconditions }: DeleteOptions,
): void {
  const uid: string = current.object.metadata.uid ?? "";
  // kube-apiserver names the kind in this message, not the resource.
  const subject = { group: resource.group, plural: resource.kind.kind };
  if (preconditions?.uid !== undefined && preconditions.uid !== uid) {
    throw conflict(
      subject,
      name,
      `the UID in the precondition (${preconditions.uid}) does not match the UID in record ` +
        `(${uid}). The object might have been deleted and then recreated`,
    );
  }
  const version = String(current.revision);
  if (preconditions?.resourceVersion === undefined) return;
  if (preconditions.resourceVersion === version) return;
  throw conflict(
    subject,
    name,
    `the ResourceVersion in the precondition (${preconditions.resourceVersion}) does not match ` +
      `the ResourceVersion in record (${version}). The object might have been modified`,
  );
}

/** As `checkDeletePreconditions`, with the message of kinds that have a Delete method of their own. */
function checkPreconditions(
  request: ResourceRequest,
  current: StoredItem,
  options: DeleteOptions,
): void {
  const { resource, name } = request;
  const { preconditions } = options;
  if (!isNamespace(resource) && resource.kind.hooks.markDeleting === undefined) {
    return checkDeletePreconditions(request, current, options);
  }
  const expected = [
    ["UID", preconditions?.uid, current.object.metadata.uid],
    ["ResourceVersion", preconditions?.resourceVersion, String(current.revision)],
  ] as const;
  for (const [what, wanted, actual] of expected) {
    if (wanted === undefined || wanted === actual) continue;
    const compared = `${what} in precondition: ${wanted}, ${what} in object meta: ${actual}`;
    throw conflict(resource, name, `Precondition failed: ${compared}`);
  }
}
