/** The steps of the write path; `pipeline.ts` has their order. */
import { append, assert, atOnce, deepClone, inTurns } from "#base";
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

/** Decodes the body into hub form and sets the defaults. */
export function decodeBody(write: Write): void {
  const { registry, request, input } = write;
  assert(input !== undefined, "a client sent the body");
  const decoded = body.decodeBody(registry, request, input.body, input.options);
  write.take(decoded);
  const { name, generateName } = decoded.object.metadata;
  write.generatesName = !name && Boolean(generateName);
}

/** Keeps the decoded body for the attempts, and its uid as their precondition. */
export function keepDecodedBody(write: Write): void {
  const { object, warnings } = write;
  write.decoded = { object, warnings };
  write.uid = object.metadata.uid || undefined;
}

/** The steps change their object, and may run again. */
export function copyDecodedBody(write: Write): void {
  const { decoded } = write;
  assert(decoded !== undefined, "the body is decoded before the first attempt");
  write.take({ object: deepClone(decoded.object), warnings: [...decoded.warnings] });
}

/** Yields to other requests after steps that take long with large objects. */
export function yieldIfLong({ pause }: Write): Promise<void> | undefined {
  return pause();
}

/** Applies the patch to the stored object; a patch is parsed only when there is one. */
export function applyPatch(write: Write): Promise<void> | undefined {
  const { registry, request, patch, current, isLarge } = write;
  assert(patch !== undefined, "the write is a PATCH");
  write.apply ??= patchApplier(request, patch);
  const slices = write.apply(registry, current);
  if (isLarge) return inTurns(slices).then((decoded) => write.take(decoded));
  return void write.take(atOnce(slices));
}

/** Merges an applied configuration with the stored object and updates managedFields. */
export function applyConfiguration(write: Write): Promise<void> | undefined {
  const { registry, request, patch, current, isLarge } = write;
  assert(patch !== undefined, "the write is a PATCH");
  const apply = (write.apply ??= configurationApplier(request, patch));
  const applied = withConvertedObjects(registry, request, {
    isLarge,
    work: (views) => apply(views, current),
  });
  if (applied instanceof Promise) return applied.then((decoded) => write.take(decoded));
  return void write.take(applied);
}

/** Changes the object as its subresource asks. */
export function applySubresource(write: Write): void {
  const { registry, change, current } = write;
  assert(change !== undefined, "the write is one of a subresource");
  write.take(change(registry, current));
}

/** Throws 403 while the CustomResourceDefinition of the resource is being removed. */
export function refuseTerminatingDefinition({ request, object }: Write): void {
  definition.refuseTerminatingDefinition(request, object);
}

/** Throws 404: the write needs a stored object. */
export function refuseMissingObject({ request }: Write): void {
  throw notFound(request.resource, request.name);
}

/** Throws 404 unless an update of the kind creates missing objects. */
export function requireCreateOnUpdate({ request }: Write): void {
  const { resource, name, subresource } = request;
  if (!resource.kind.rules.createOnUpdate || subresource !== "") throw notFound(resource, name);
}

/** Throws 404 for subresources: a configuration creates objects only as a whole. */
export function requireMainResource({ request }: Write): void {
  if (request.subresource !== "") throw notFound(request.resource, request.name);
}

/** Throws 409 unless the stored object has the uid that the client expects. */
export function checkUid({ registry, request, uid, current }: Write): void {
  preconditions.checkPreconditions(registry, request, { uid, current });
}

export function dropResourceVersion({ object }: Write): void {
  delete object.metadata.resourceVersion;
}

/** Drops what only the server sets in a new object. */
export function resetSystemFields({ object }: Write): void {
  metadata.resetSystemFields(object.metadata);
}

/** Throws 400 unless namespace and name of the object are those of the request's path. */
export function matchPath({ request, object }: Write): void {
  metadata.matchNamespace(request, object.metadata);
  if (request.name !== "") metadata.matchName(request, object.metadata);
}

/** Gives the fields that the client changes to its field manager. */
export function updateManagedFields(write: Write): Promise<void> | undefined {
  const { registry, request, object, old, input, isLarge } = write;
  assert(input !== undefined, "a client changes the object");
  const { fieldManager } = input.options;
  const updated = withConvertedObjects(registry, request, {
    isLarge,
    work: (views) => managed.updateManagedFields(views, request, { object, old, fieldManager }),
  });
  return updated instanceof Promise ? updated : undefined;
}

/** Runs NamespaceLifecycle and the plugins, policies and webhooks that change objects. */
export function mutatingAdmission(write: Write): Promise<void> | undefined {
  const { registry, request, dryRun, object, old, input } = write;
  const operation = old === undefined ? "create" : "update";
  const optionsKind = old === undefined ? "CreateOptions" : "UpdateOptions";
  const options = input && writeOperationOptions(optionsKind, input.options);
  write.attributes = { request, operation, dryRun, object, old, options };
  write.managedFieldsBeforeAdmission = managed.managedFieldsOf(write.attributes);
  return runHandlers(registry.mutating, write.attributes, write.warnings, write.pauseIfLarge);
}

/** Restores managedFields that admission left invalid, with a warning. */
export function restoreManagedFields({
  object,
  managedFieldsBeforeAdmission: before,
  warnings,
}: Write): void {
  append(warnings, managed.restoreManagedFields({ object }, before));
}

/** Drops owner references that repeat an earlier one, with a warning. */
export function dedupeOwnerReferences({ object, patch, warnings }: Write): void {
  // Kubernetes looks at a patched object only after mutating admission, and says so.
  const when = patch === undefined ? "" : " after mutating admission happens";
  metadata.dedupeOwnerReferences(object.metadata, when, warnings);
}

/** Keeps the times of managedFields when nothing else has changed. */
export function keepManagedFieldsTimes({ request, object, old }: Write): void {
  managed.keepTimestamps(request.resource, object, old);
}

/** Throws 409 unless the object was made from the stored version. */
export function checkResourceVersion({ request, object, entry }: Write): void {
  assert(entry !== undefined, "an update has a stored object");
  preconditions.checkResourceVersion(request, object.metadata, entry.modRevision);
}

/** Takes over from the stored object what a client cannot change. */
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

export function generateName({ registry, object }: Write): void {
  const { metadata } = object;
  if (metadata.name || !metadata.generateName) return;
  metadata.name = registry.identities.name(metadata.generateName);
}

export function initializeGeneration({ request, object }: Write): void {
  metadata.initializeGeneration(request.resource.kind.rules, object.metadata);
}

/** Counts a change outside of metadata and status. */
export function updateGeneration({ request, object, old }: Write): void {
  metadata.updateGeneration(request.resource, object, old);
}

/** The kind's own preparation of a new object, such as dropping its status. */
export function prepareCreate({ request, object, hookContext, warnings }: Write): void {
  const { hooks } = request.resource.kind;
  append(warnings, hooks.earlyWarnings?.(object, hookContext) ?? []);
  hooks.prepareCreate?.(object, hookContext);
}

/** The kind's own preparation of an update, such as keeping the stored status. */
export function prepareUpdate({ request, object, old, hookContext }: Write): void {
  const { prepareUpdate } = request.resource.kind.hooks;
  // Hooks take over parts of the old object; a copy keeps the two apart.
  prepareUpdate?.(object, deepClone(old), hookContext);
}

/** Reserves the cluster IPs and node ports of a service and writes them into it. */
export function reserveAllocations(write: Write): Promise<void> | undefined {
  const { registry, request, attributes } = write;
  const allocator = allocation.allocatorOf(registry, request);
  if (allocator === undefined || attributes === undefined) return undefined;
  write.allocation = new allocation.AllocationTransaction(allocator);
  return write.allocation.reserve(attributes);
}

/** Throws 422 with all problems of a new object. */
export function validateCreate({ request, object, hookContext: context, isLarge }: Write) {
  return validation.validateCreate(request.resource, object, { context, isLarge });
}

/** Throws 422 with all problems of a changed object. */
export function validateUpdate({ request, object, old, hookContext: context, isLarge }: Write) {
  return validation.validateUpdate(request.resource, object, { old, context, isLarge });
}

/** Adds the kind's warnings about the object. */
export function addWarnings({ request, object, old, hookContext, warnings }: Write): void {
  append(warnings, request.resource.kind.hooks.warnings?.(object, old, hookContext) ?? []);
}

/** Runs the plugins, policies and webhooks that may refuse the object, and quota. */
export function validatingAdmission({ registry, attributes, warnings, pauseIfLarge }: Write) {
  assert(attributes !== undefined, "mutating admission comes first");
  return runHandlers(registry.validating, attributes, warnings, pauseIfLarge);
}

/** Throws 500 for a create with a resourceVersion, as Kubernetes' store does; a dry run keeps it. */
export function refuseResourceVersion({ dryRun, object }: Write): void {
  if (dryRun) return;
  if (/^0*[1-9]\d*$/.test(object.metadata.resourceVersion ?? "")) {
    throw plainFailure("resourceVersion should not be set on objects to be created");
  }
  delete object.metadata.resourceVersion;
}

/** Empty lists and maps that JSON always shows become null, as Protobuf stores them. */
export function nullEmptyCollections({ request, object }: Write): void {
  collections.nullEmptyCollections(request.resource.hub.struct, object);
}

/** A written namespace is read again before the next write into it. */
export function invalidateNamespace({ registry, request, stored, object }: Write): void {
  if (stored && isNamespace(request.resource)) registry.namespaces.invalidate(object.metadata.name);
}

/** Releases what an object held that an update has deleted with its last finalizer. */
export function releaseAllocations(write: Write): Promise<void> | undefined {
  const { registry, request, stored, object } = write;
  if (!stored || !isReadyToDelete(request.resource, object)) return undefined;
  return allocation.releaseAllocations(registry, request, object);
}
