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
import { isDecodable, deleteUnreadable } from "./unreadable.ts";

/**
 * Deletion. An object with finalizers is only marked (deletionTimestamp) and goes with its last
 * finalizer, one that goes gracefully stays for its time; all others go at once.
 */

/**
 * Dependents are left alone; the garbage collector removes this finalizer when it has cut them
 * loose.
 */
const orphanFinalizer = "orphan";
/**
 * The object waits for its dependents; the garbage collector removes this finalizer when they are
 * gone.
 */
const foregroundFinalizer = "foregroundDeletion";

/** DELETE of one object, or of one of the objects of a collection. */
export async function deleteObject(
  registry: RegistryContext,
  request: ResourceRequest,
  options: DeleteOptions,
  { ofCollection = false }: { readonly ofCollection?: boolean } = {},
): Promise<DeleteResponse> {
  const { dryRun, ignoreReadError = false } = options;
  checkDeleteOptions({ ...options, dryRun: [], ignoreReadError }, registry.catalog.domain);
  const asked = { operation: "delete", dryRun, options: deleteOperationOptions(options) } as const;
  const attributes = { ...asked, request, object: undefined, ofCollection };
  // Before all others look at it: they are not asked about what cannot be read.
  await namespaceLifecycle(registry, { ...attributes, old: undefined });
  // What cannot be read is deleted only as the store has it.
  const optimistic = !dryRun && !ignoreReadError;
  const target = { key: storageKey(request), context: request.context, optimistic };
  return retryOnConflict(registry, target, async (entry) => {
    if (entry === undefined) throw notFound(request.resource, request.name);
    const current = StoredItem.of(registry, request, entry);
    if (ignoreReadError && !isDecodable(current)) {
      return deleteUnreadableObject(registry, request, { entry, dryRun });
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
  { entry, dryRun }: { readonly entry: Entry; readonly dryRun: boolean },
): Promise<Outcome> {
  if (dryRun || (await deleteUnreadable(registry, request, entry))) {
    return { response: { status: deletedStatus(request, undefined) }, isStored: !dryRun };
  }
  const { entry: current } = await registry.store.get(entry.key, request.context);
  return { current };
}

/** One attempt: what is to go, as it stands in the store. */
interface Deletion {
  readonly options: DeleteOptions;
  readonly entry: Entry;
  readonly current: StoredItem;
}

type Outcome = AttemptResult<DeleteResponse>;

interface Marked {
  readonly response: { readonly item: StoredItem; readonly pending: true };
  readonly isStored: boolean;
}

function attemptDeletion(
  registry: RegistryContext,
  request: ResourceRequest,
  removal: Deletion,
): Promise<Outcome> {
  const { kind } = request.resource;
  const isFirst = !removal.current.object.metadata.deletionTimestamp;
  if (isNamespace(request.resource)) return deleteNamespace(registry, request, removal);
  if (kind.hooks.markDeleting !== undefined && isFirst) {
    return markOnly(registry, request, removal);
  }
  return deleteOrMark(registry, request, removal);
}

/** For kinds whose controller completes the deletion by removing the kind's finalizer. */
function markOnly(
  registry: RegistryContext,
  request: ResourceRequest,
  removal: Deletion,
): Promise<Outcome> {
  const object = deepClone(removal.current.object);
  const now = registry.timestamp();
  object.metadata.deletionTimestamp = now;
  const { api } = registry.catalog.domain;
  request.resource.kind.hooks.markDeleting?.(object, { api, now });
  return storeMarked(registry, request, { ...removal, object });
}

async function deleteOrMark(
  registry: RegistryContext,
  request: ResourceRequest,
  removal: Deletion,
): Promise<Outcome> {
  const { current, options } = removal;
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
    const outcome = await storeMarked(registry, request, { ...removal, object: marked });
    if (finalizers.length > 0 || graceful.seconds > 0 || "current" in outcome) return outcome;
    if (!outcome.isStored && !options.dryRun) return deleteFromStore(registry, request, removal);
    const response = await deleteMarked(registry, request, { options, ...outcome });
    return { response, isStored: outcome.isStored };
  }
  if (finalizers.length === 0) return deleteFromStore(registry, request, removal);
  const marked = { ...object, metadata: { ...object.metadata, finalizers } };
  markAsDeleting(marked.metadata, registry.clock.now());
  return storeMarked(registry, request, { ...removal, object: marked });
}

/**
 * The first deletion of a namespace marks it as terminating; the namespace controller then empties
 * it and finalizes its spec. Kubernetes sets no grace period here.
 */
async function deleteNamespace(
  registry: RegistryContext,
  request: ResourceRequest,
  removal: Deletion,
): Promise<Outcome> {
  const { object } = removal.current;
  const { metadata, status } = object;
  if (metadata.deletionTimestamp) {
    const emptied = (object.spec.finalizers ?? []).length === 0;
    if (emptied) return deleteOrMark(registry, request, removal);
    return { response: { item: removal.current, pending: true }, isStored: false };
  }
  const kept = finalizersFor(request.resource, metadata.finalizers ?? [], removal.options);
  const { finalizers: _finalizers, ...others } = metadata;
  const marked = {
    ...object,
    metadata: {
      ...others,
      deletionTimestamp: registry.timestamp(),
      ...(kept.length > 0 ? { finalizers: kept } : {}),
    },
    status: { ...status, phase: "Terminating" },
  };
  const outcome = await storeMarked(registry, request, { ...removal, object: marked });
  registry.namespaces.invalidate(request.name);
  return outcome;
}

/** Writes the marked object, unless it is as it was. */
async function storeMarked(
  registry: RegistryContext,
  request: ResourceRequest,
  { options, entry, object }: Deletion & { readonly object: any },
): Promise<Marked | Conflict> {
  const value = encodeStored(registry, request.resource, object);
  const respondWith = (written: Entry, isStored: boolean): Marked => {
    const changed = { ...object, metadata: { ...object.metadata } };
    setResourceVersion(changed, written.modRevision);
    const item = new StoredItem(registry, request, written, { object: changed });
    return { response: { item, pending: true }, isStored };
  };
  if (options.dryRun) return respondWith({ ...entry, value }, false);
  if (Buffer.compare(value, entry.value) === 0) return respondWith(entry, false);
  const { signal } = request.context;
  const outcome = await registry.store.update(entry.key, entry.modRevision, value, { signal });
  return outcome.done ? respondWith(outcome.entry, true) : { current: outcome.current };
}

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
  const item = current.deletedAt(outcome.revision);
  return { response: deletedResponse(request, item), isStored: true };
}

/**
 * The second half of a deletion that grants no time: the object is marked and goes, whatever
 * others do to it meanwhile, even if they remove it first.
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
      return deletedResponse(request, item.deletedAt(outcome.revision));
    }
    if (outcome.current === undefined) break;
    revision = outcome.current.modRevision;
  }
  return deletedResponse(request, item);
}

/** The object or a Success Status, as the kind has it. */
function deletedResponse({ resource, name }: ResourceRequest, item: StoredItem): DeleteResponse {
  if (resource.kind.rules.deleteReturnsObject) return { item, pending: false };
  return { status: deletedStatus({ resource, name }, item.object.metadata.uid) };
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

/** Finalizers with those that the propagation policy wants and without those that it does not. */
function finalizersFor(
  { kind }: Resource,
  finalizers: readonly string[],
  options: DeleteOptions,
): readonly string[] {
  const others = finalizers.filter((f) => f !== orphanFinalizer && f !== foregroundFinalizer);
  const wanted = propagationOf(finalizers, options, kind.rules.defaultPropagation);
  // Events own nothing: no collector would ever take the finalizer away again.
  if (kind.rules.expires || wanted === "background") {
    return others.length === finalizers.length ? finalizers : others;
  }
  const one = wanted === "orphan" ? orphanFinalizer : foregroundFinalizer;
  const asBefore = finalizers.includes(one) && others.length === finalizers.length - 1;
  return asBefore ? finalizers : [...others, one];
}

/** The client's word, else what the object's finalizers say, else the kind's habit. */
function propagationOf(
  finalizers: readonly string[],
  { orphanDependents, propagationPolicy }: DeleteOptions,
  habit: "background" | "orphan",
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
      return finalizers.includes(foregroundFinalizer) ? "foreground" : habit;
  }
}

/** The deletion counts as a change of the desired state, once. */
function markAsDeleting(metadata: any, now: number): void {
  const generation = BigInt(metadata.generation ?? 0);
  if (metadata.deletionGracePeriodSeconds === undefined && generation > 0n) {
    metadata.generation = nextGeneration(generation);
  }
  const at = metadata.deletionTimestamp;
  if (!at || Date.parse(at) > now) metadata.deletionTimestamp = timestamp(now);
  metadata.deletionGracePeriodSeconds = 0;
}

/** True when an object that is being deleted has nothing left to wait for. */
export function isReadyToDelete(resource: Resource, object: any): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds, finalizers } = object.metadata;
  if (!deletionTimestamp || (finalizers ?? []).length > 0) return false;
  if (isNamespace(resource) && (object.spec.finalizers ?? []).length > 0) return false;
  return BigInt(deletionGracePeriodSeconds ?? 0) === 0n;
}

/** Throws 409 in the words that deletions have for it. */
export function checkDeletePreconditions(
  { resource, name }: ResourceRequest,
  current: StoredItem,
  { preconditions }: DeleteOptions,
): void {
  const uid: string = current.object.metadata.uid ?? "";
  // Kubernetes names the kind here where it otherwise names the resource.
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

/** Kinds with a terminating phase have their own error texts for failed preconditions. */
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
