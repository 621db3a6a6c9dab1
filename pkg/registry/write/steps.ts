/** The steps of the write path; `pipeline.ts` lists them in order. */
import { append, assert, atOnce, deepClone, deepCloneInSlices, inTurns, type Slices } from "#base";
import { notFound, plainFailure } from "#meta";
import { runHandlers } from "../admission/handler.ts";
import { isNamespace } from "../admission/namespace-lifecycle.ts";
import { writeOperationOptions } from "../admission/options.ts";
import * as allocation from "../allocation/allocation-transaction.ts";
import * as collections from "../codec/null-empty-collections.ts";
import { withConvertedObjects } from "../codec/conversion-retry.ts";
import { isReadyToDelete } from "../delete/delete.ts";
import * as definition from "./custom-resource-errors.ts";
import * as body from "./decode-body.ts";
import * as managed from "./managed-fields.ts";
import * as metadata from "./metadata.ts";
import { patchApplier } from "./patch.ts";
import * as preconditions from "./preconditions.ts";
import { configurationApplier } from "./server-side-apply.ts";
import * as validation from "./validate.ts";
import type { Write } from "./write.ts";

/** Decodes the body, converts it to the hub version and applies defaults. */
export function decodeBody(write: Write): Promise<void> | undefined {
  const { registry, request, input } = write;
  assert(input !== undefined, "a client sent the body");
  const slices = body.decodeBodyInSlices(registry, request, input.body, input.options);
  return inTurnsIfLarge(write, slices, (decoded) => {
    write.setDecoded(decoded);
    const { name, generateName } = decoded.object.metadata;
    write.generatesName = !name && Boolean(generateName);
  });
}

/** Does the work in turns with other requests if the write is large. */
function inTurnsIfLarge<T>(
  { isLarge }: Write,
  slices: Slices<T>,
  take: (result: T) => void = () => undefined,
): Promise<void> | undefined {
  if (isLarge) return inTurns(slices).then(take);
  return void take(atOnce(slices));
}

/** Saves the decoded body for the attempts; its uid, if set, becomes their precondition. */
export function saveDecodedBody(write: Write): void {
  const { object, warnings } = write;
  write.decoded = { object, warnings };
  write.uid = object.metadata.uid || undefined;
}

/** Starts an attempt with a copy of the decoded body, since the steps change their object. */
export function copyDecodedBody(write: Write): Promise<void> | undefined {
  const { decoded } = write;
  assert(decoded !== undefined, "the body is decoded before the first attempt");
  const take = (object: any): void => {
    write.setDecoded({ object, warnings: [...decoded.warnings] });
  };
  return withCopy(write, decoded.object, take);
}

/** Copies a value, in turns with other requests if the write is large. */
function withCopy(
  { isLarge }: Write,
  value: any,
  take: (copy: any) => void,
): Promise<void> | undefined {
  // A generator would take longer for a small value.
  if (isLarge) return inTurns(deepCloneInSlices(value)).then(take);
  return void take(deepClone(value));
}

/** Yields to other requests if the steps since the last yield took long. */
export function yieldIfLong({ pause }: Write): Promise<void> | undefined {
  return pause();
}

/** Applies the patch to the stored object; the first attempt parses the patch. */
export function applyPatch(write: Write): Promise<void> | undefined {
  const { registry, request, patch, current } = write;
  assert(patch !== undefined, "the write is a PATCH");
  write.apply ??= patchApplier(request, patch);
  return inTurnsIfLarge(write, write.apply(registry, current), (decoded) => {
    write.setDecoded(decoded);
  });
}

/** Merges the applied configuration into the stored object and updates managedFields. */
export function applyConfiguration(write: Write): Promise<void> | undefined {
  const { registry, request, patch, current, isLarge } = write;
  assert(patch !== undefined, "the write is a PATCH");
  const apply = (write.apply ??= configurationApplier(request, patch));
  const applied = withConvertedObjects(registry, request, {
    isLarge,
    work: (views) => apply(views, current),
  });
  if (applied instanceof Promise) return applied.then((decoded) => write.setDecoded(decoded));
  return void write.setDecoded(applied);
}

/** Makes the change that the body of the subresource requests. */
export function applySubresource(write: Write): void {
  const { registry, change, current } = write;
  assert(change !== undefined, "the write is one of a subresource");
  write.setDecoded(change(registry, current));
}

/** Throws 403 while the CustomResourceDefinition of the resource is terminating. */
export function refuseTerminatingDefinition({ request, object }: Write): void {
  definition.refuseTerminatingDefinition(request, object);
}

/** Throws 404: the write needs a stored object. */
export function refuseMissingObject({ request }: Write): void {
  throw notFound(request.resource, request.name);
}

/** Throws 404 unless a PUT to the main resource creates missing objects of the kind. */
export function requireCreateOnUpdate({ request }: Write): void {
  const { resource, name, subresource } = request;
  if (!resource.kind.rules.createOnUpdate || subresource !== "") throw notFound(resource, name);
}

/** Throws 404 for subresources: server-side apply creates objects only through the main resource. */
export function requireMainResource({ request }: Write): void {
  if (request.subresource !== "") throw notFound(request.resource, request.name);
}

/** Throws 409 if the client names a uid that is not the stored object's. */
export function checkUid({ registry, request, uid, current }: Write): void {
  preconditions.checkPreconditions(registry, request, { uid, current });
}

/** Removes the resourceVersion of an object that is to be created. */
export function dropResourceVersion({ object }: Write): void {
  delete object.metadata.resourceVersion;
}

/** Removes the metadata of a new object that only the server sets. */
export function resetSystemFields({ object }: Write): void {
  metadata.resetSystemFields(object.metadata);
}

/**
 * Throws 400 unless the object's namespace matches the request's path; a changed name of an existing
 * object is found by its validation.
 */
export function matchNamespace({ request, object }: Write): void {
  metadata.matchNamespace(request, object.metadata);
}

/** Throws 400 unless the object's namespace and name match the request's path. */
export function matchPath({ request, object }: Write): void {
  metadata.matchNamespace(request, object.metadata);
  if (request.name !== "") metadata.matchName(request, object.metadata);
}

/** Records in managedFields that the client's field manager owns the fields that the write changes. */
export function updateManagedFields(write: Write): Promise<void> | undefined {
  const { registry, request, object, old, document, input, isLarge } = write;
  assert(input !== undefined, "a client sent the object");
  const { fieldManager } = input.options;
  const change = { object, old, document, fieldManager, isLarge };
  const updated = withConvertedObjects(registry, request, {
    isLarge,
    work: (views) => managed.updateManagedFields(views, request, change),
  });
  return updated instanceof Promise ? updated : undefined;
}

/** Runs NamespaceLifecycle and the mutating plugins, policies and webhooks. */
export function mutatingAdmission(write: Write): Promise<void> | undefined {
  const { registry, request, dryRun, object, old, input } = write;
  const operation = old === undefined ? "create" : "update";
  const optionsKind = old === undefined ? "CreateOptions" : "UpdateOptions";
  const options = input && writeOperationOptions(optionsKind, input.options);
  write.attributes = { request, operation, dryRun, object, old, options };
  write.managedFieldsBeforeAdmission = managed.managedFieldsOf(write.attributes);
  return runHandlers(registry.mutating, write.attributes, write.warnings, write.pauseIfLarge);
}

/** Undoes changes by admission that make managedFields invalid, with a warning. */
export function restoreManagedFields({
  object,
  managedFieldsBeforeAdmission: before,
  warnings,
}: Write): void {
  append(warnings, managed.restoreManagedFields({ object }, before));
}

/** Removes duplicate owner references, with a warning. */
export function dedupeOwnerReferences({ object, patch, warnings }: Write): void {
  // kube-apiserver checks PATCH only after mutating admission, and its warning says so.
  const when = patch === undefined ? "" : " after mutating admission happens";
  metadata.dedupeOwnerReferences(object.metadata, when, warnings);
}

/** Restores the timestamps of managedFields if the write changes nothing else. */
export function keepManagedFieldsTimestamps(write: Write): Promise<void> | undefined {
  return inTurnsIfLarge(write, managed.keepTimestamps(write.request.resource, write));
}

/** Throws 409 if the object has a resourceVersion other than the stored object's. */
export function checkResourceVersion({ request, object, entry }: Write): void {
  assert(entry !== undefined, "an update has a stored object");
  preconditions.checkResourceVersion(request, object.metadata, entry.modRevision);
}

/** Copies the metadata that clients cannot change from the stored object. */
export function preserveSystemFields({ object, old }: Write): void {
  metadata.preserveSystemFields(object.metadata, old.metadata);
}

/** Sets uid and creationTimestamp. */
export function fillSystemFields({ registry, object }: Write): void {
  metadata.fillSystemFields(registry, object.metadata);
}

/** Sets uid, creationTimestamp and generation of a restored object that has none. */
export function fillAbsentSystemFields({ registry, request, object }: Write): void {
  metadata.fillAbsentSystemFields(registry, object.metadata);
  if (!object.metadata.generation) {
    metadata.initializeGeneration(request.resource.kind.rules, object.metadata);
  }
}

/** Sets a name made of `generateName` and a random suffix if the object has none. */
export function generateName({ registry, request, object }: Write): void {
  const { metadata } = object;
  if (metadata.name || !metadata.generateName) return;
  metadata.name = request.resource.kind.rules.unchangedGenerateName
    ? metadata.generateName
    : registry.identities.name(metadata.generateName);
}

/** Sets generation 1 if the kind has a generation. */
export function initializeGeneration({ request, object }: Write): void {
  metadata.initializeGeneration(request.resource.kind.rules, object.metadata);
}

/** Increments the generation if anything but metadata and status changes. */
export function updateGeneration(write: Write): Promise<void> | undefined {
  return inTurnsIfLarge(write, metadata.updateGeneration(write.request.resource, write));
}

/** Runs the kind's PrepareForCreate, which for example drops the status. */
export function prepareCreate({ request, object, hookContext, warnings }: Write): void {
  const { hooks } = request.resource.kind;
  append(warnings, hooks.earlyWarnings?.(object, hookContext) ?? []);
  hooks.prepareCreate?.(object, hookContext);
}

/** Runs the kind's PrepareForUpdate, which for example keeps the stored status. */
export function prepareUpdate(write: Write): Promise<void> | undefined {
  const { request, object, old, hookContext } = write;
  const { prepareUpdate } = request.resource.kind.hooks;
  if (prepareUpdate === undefined) return undefined;
  // The hook moves parts of the old object into the new one, which must not share them.
  return withCopy(write, old, (copy) => prepareUpdate(object, copy, hookContext));
}

/** Reserves cluster IPs and node ports and sets them in the Service. */
export function reserveAllocations(write: Write): Promise<void> | undefined {
  const { registry, request, attributes } = write;
  const allocator = allocation.allocatorOf(registry, request);
  if (allocator === undefined || attributes === undefined) return undefined;
  write.allocation = new allocation.AllocationTransaction(allocator);
  return write.allocation.reserve(attributes);
}

/** Throws 422 with all invalid fields of a new object. */
export function validateCreate({ request, object, hookContext }: Write) {
  return validation.validateCreate(request.resource, object, hookContext);
}

/** Throws 422 with all invalid fields of a changed object. */
export function validateUpdate({ request, object, old, hookContext: context }: Write) {
  return validation.validateUpdate(request.resource, object, { old, context });
}

/** Adds the kind's warnings, such as those about deprecated fields. */
export function addWarnings({ request, object, old, hookContext, warnings }: Write): void {
  append(warnings, request.resource.kind.hooks.warnings?.(object, old, hookContext) ?? []);
}

/** Runs the validating plugins, policies and webhooks; ResourceQuota is last. */
export function validatingAdmission({ registry, attributes, warnings, pauseIfLarge }: Write) {
  assert(attributes !== undefined, "mutating admission comes first");
  return runHandlers(registry.validating, attributes, warnings, pauseIfLarge);
}

/** Throws 500 for a create with a resourceVersion, as apiserver's etcd3 store does; dry runs keep it. */
export function refuseResourceVersion({ dryRun, object }: Write): void {
  if (dryRun) return;
  if (/^0*[1-9]\d*$/.test(object.metadata.resourceVersion ?? "")) {
    throw plainFailure("resourceVersion should not be set on objects to be created");
  }
  delete object.metadata.resourceVersion;
}

/**
 * Makes the object what readers of the stored bytes see: sets the kind's late defaults, and prunes what an
 * applied configuration has and the schema of a custom resource does not specify. kube-apiserver
 * validates such members, which count as a change, and prunes when it encodes the object.
 */
export function prepareStored(write: Write): Promise<void> | undefined {
  const { kind, hub } = write.request.resource;
  kind.hooks.prepareStored?.(write.object);
  const { open } = hub.struct;
  if (!write.applies || open === undefined) return undefined;
  return inTurnsIfLarge(write, open.prune(write.object, undefined));
}

/** Replaces empty lists and maps without `omitempty` by null, as a Protobuf round trip does. */
export function nullEmptyCollections({ request, object }: Write): void {
  collections.nullEmptyCollections(request.resource.hub.struct, object);
}

/** Evicts a written Namespace from the cache of NamespaceLifecycle. */
export function invalidateNamespace({ registry, request, stored, object }: Write): void {
  if (stored && isNamespace(request.resource)) registry.namespaces.invalidate(object.metadata.name);
}

/** Releases the allocations of an object that was deleted because its last finalizer was removed. */
export function releaseAllocations(write: Write): Promise<void> | undefined {
  const { registry, request, stored, object } = write;
  if (!stored || !isReadyToDelete(request.resource, object)) return undefined;
  return allocation.releaseAllocations(registry, request, object);
}
