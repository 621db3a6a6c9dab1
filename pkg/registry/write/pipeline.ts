import { append, deepClone, yieldEvery } from "#base";
import {
  alreadyExists,
  alreadyExistsDeleting,
  generatedNameTaken,
  notFound,
  plainFailure,
  StatusError,
} from "#meta";
import type { Entry, WriteOutcome } from "#storage";
import { runHandlers } from "../admission/handler.ts";
import { writeOperationOptions } from "../admission/options.ts";
import { decodeBody, type Decoded } from "./decode-body.ts";
import type {
  Body,
  PatchOptions,
  ResourceRequest,
  WriteResponse,
  WriteOptions,
  AdmissionAttributes,
} from "../contract.ts";
import { configurationApplier } from "./server-side-apply.ts";
import { refuseChangedDefinition, refuseTerminatingDefinition } from "./custom-resource-errors.ts";
import { nullEmptyCollections } from "../codec/null-empty-collections.ts";
import { type RegistryContext, hookContext } from "../context.ts";
import { writeWithSizeFallback } from "./size-fallback.ts";
import { type AttemptResult, retryOnConflict } from "./write-conflict.ts";
import { isNamespace } from "../admission/namespace-lifecycle.ts";
import {
  dedupeOwnerReferences,
  fillSystemFields,
  preserveSystemFields,
  matchName,
  matchNamespace,
  updateGeneration,
  initializeGeneration,
  resetSystemFields,
} from "./metadata.ts";
import { patchApplier } from "./patch.ts";
import { withConvertedObjects } from "../codec/other-versions.ts";
import {
  keepTimestamps,
  updateManagedFields,
  managedFieldsOf,
  restoreManagedFields,
} from "./managed-fields.ts";
import { isReadyToDelete } from "../delete/delete.ts";
import {
  allocatorOf,
  type AllocationTransaction,
  withAllocations,
  releaseAllocations,
} from "../allocation/allocation-transaction.ts";
import {
  encodeStored,
  isReadable,
  storageKey,
  setResourceVersion,
  StoredItem,
} from "../codec/stored.ts";
import { validateCreate, validateUpdate } from "./validate.ts";
import { checkPreconditions, checkResourceVersion } from "./preconditions.ts";

/**
 * The write path, top to bottom: decode -> (patch, on the current object) -> default -> mutating
 * admission -> prepare -> validate -> validating admission -> compare-and-swap, retried as a whole
 * when someone else was faster. A dry run walks the same path and stops before the store. Between
 * steps that take long with large objects, other requests have their turn.
 */

/** How often a generated name is made up anew when it is taken. */
const nameAttempts = 8;

/** POST to a collection. */
export async function create(
  registry: RegistryContext,
  request: ResourceRequest,
  { body, options }: { readonly body: Body; readonly options: WriteOptions },
): Promise<WriteResponse> {
  const { dryRun, fieldManager } = options;
  for (let attempt = 1; ; attempt++) {
    const pause = yieldEvery();
    const decoded = decodeBody(registry, request, body, options);
    await pause();
    refuseTerminatingDefinition(request);
    const { object, warnings } = decoded;
    const isMadeUp = !object.metadata.name && Boolean(object.metadata.generateName);
    try {
      resetSystemFields(object.metadata);
      matchNamespace(request, object.metadata);
      await withConvertedObjects(registry, request, (registry) =>
        updateManagedFields(registry, request, { object, old: undefined, fieldManager }),
      );
      await pause();
      const creation = { dryRun, asked: options, object, warnings };
      const response = await attemptCreation(registry, request, creation);
      if (response !== undefined) return response;
      if (!isMadeUp || attempt === nameAttempts) throw await nameTaken(registry, request, object);
    } catch (error) {
      throw withWarnings(error, warnings);
    }
  }
}

interface Creation extends Decoded {
  readonly dryRun: boolean;
  /** As in `Change`. */
  readonly applies?: boolean;
  readonly asked?: WriteOptions | undefined;
}

/** Undefined when the name is taken. Changes the object in place. */
function attemptCreation(
  registry: RegistryContext,
  request: ResourceRequest,
  creation: Creation,
): Promise<WriteResponse | undefined> {
  const attempt = async (hold: AllocationTransaction): Promise<WriteResponse | undefined> => {
    await prepareCreation(registry, request, { hold, ...creation });
    return storeNew(registry, request, creation);
  };
  const allocator = allocatorOf(registry, request);
  return withAllocations(allocator, attempt, (response) => response !== undefined);
}

/** Everything between the decoded object and the store. Changes `object` in place. */
async function prepareCreation(
  registry: RegistryContext,
  request: ResourceRequest,
  { object, warnings, dryRun, asked, hold }: Creation & { readonly hold: AllocationTransaction },
): Promise<void> {
  const pause = yieldEvery();
  const context = hookContext(registry, request, warnings);
  const { kind } = request.resource;
  const options = asked && writeOperationOptions("CreateOptions", asked);
  const operation = "create";
  const attributes = { request, operation, dryRun, object, old: undefined, options } as const;
  await mutate(registry, attributes, warnings);
  matchPlace(request, object.metadata);
  dedupeOwnerReferences(object.metadata, warnings);

  const { metadata } = object;
  fillSystemFields(registry, metadata);
  if (!metadata.name && metadata.generateName) {
    metadata.name = registry.identities.name(metadata.generateName);
  }
  initializeGeneration(kind.rules, metadata);
  append(warnings, kind.hooks.earlyWarnings?.(object, context) ?? []);
  kind.hooks.prepareCreate?.(object, context);
  await hold.reserve(attributes);

  await validateCreate(request.resource, object, context);
  append(warnings, kind.hooks.warnings?.(object, undefined, context) ?? []);
  await pause();
  await runHandlers(registry.validating, attributes, warnings);
}

/** Undefined when the name is taken. */
async function storeNew(
  registry: RegistryContext,
  request: ResourceRequest,
  { object, warnings, dryRun, applies = false }: Creation,
): Promise<WriteResponse | undefined> {
  if (/^0*[1-9]\d*$/.test(object.metadata.resourceVersion ?? "")) {
    throw plainFailure("resourceVersion should not be set on objects to be created");
  }
  delete object.metadata.resourceVersion;
  nullEmptyCollections(request.resource.hub.struct, object);
  const key = storageKey(request, object.metadata.name);
  const { resource } = request;
  if (dryRun) {
    const value = encodeStored(registry, resource, object);
    const { entry } = await registry.store.get(key, request.context);
    if (entry !== undefined) return undefined;
    const item = itemOf(registry, request, { entry: { key, value, modRevision: 0 }, object });
    return { item, created: true, warnings };
  }
  refuseTerminatingDefinition(request);
  refuseChangedDefinition(registry, request);
  const write = (value: Uint8Array): Promise<Entry | undefined> =>
    registry.store.create(key, value, lifeOf(registry, request));
  const written = await writeWithSizeFallback(registry, resource, { object, applies, write });
  if (written === undefined) return undefined;
  noteNamespace(registry, request, object);
  return { item: itemOf(registry, request, { entry: written, object }), created: true, warnings };
}

async function nameTaken(
  registry: RegistryContext,
  request: ResourceRequest,
  object: any,
): Promise<Error> {
  const { name, generateName } = object.metadata;
  if (generateName) return generatedNameTaken(request.resource, name);
  const key = storageKey(request, name);
  const { entry } = await registry.store.get(key, request.context);
  if (entry === undefined || !isReadable(entry)) return alreadyExists(request.resource, name);
  const { metadata } = new StoredItem(registry, request, entry).object;
  return metadata.deletionTimestamp
    ? alreadyExistsDeleting(request.resource, name)
    : alreadyExists(request.resource, name);
}

/** PUT to an object or a subresource; creates where the kind says so. */
export async function update(
  registry: RegistryContext,
  request: ResourceRequest,
  { body, options }: { readonly body: Body; readonly options: WriteOptions },
): Promise<WriteResponse> {
  const pause = yieldEvery();
  const decoded = decodeBody(registry, request, body, options);
  await pause();
  matchNamespace(request, decoded.object.metadata);
  matchName(request, decoded.object.metadata);
  const uid: string | undefined = decoded.object.metadata.uid || undefined;
  const { fieldManager } = options;
  const change = async (current: StoredItem | undefined): Promise<Decoded> => {
    // The path changes its object, and may be walked again.
    const object = deepClone(decoded.object);
    await withConvertedObjects(registry, request, (registry) =>
      updateManagedFields(registry, request, { object, old: current?.object, fieldManager }),
    );
    return { object, warnings: [...decoded.warnings] };
  };
  return write(registry, request, { change, uid, dryRun: options.dryRun, asked: options });
}

/** PATCH of an object or a subresource. */
export async function patch(
  registry: RegistryContext,
  request: ResourceRequest,
  { body, options }: { readonly body: Body; readonly options: PatchOptions },
): Promise<WriteResponse> {
  if (options.patchType === "apply") return apply(registry, request, { body, options });
  const patched = patchApplier(registry, request, { body, options });
  const { fieldManager } = options;
  const change = async (current: StoredItem | undefined): Promise<Decoded> => {
    if (current === undefined) throw notFound(request.resource, request.name);
    const decoded = patched(current);
    const { object } = decoded;
    await withConvertedObjects(registry, request, (registry) =>
      updateManagedFields(registry, request, { object, old: current.object, fieldManager }),
    );
    matchNamespace(request, object.metadata);
    matchName(request, object.metadata);
    return decoded;
  };
  const { dryRun } = options;
  return write(registry, request, { change, uid: undefined, dryRun, asked: options });
}

/** Server-side apply: a PATCH that may create, and merges by ownership. */
function apply(
  registry: RegistryContext,
  request: ResourceRequest,
  { body, options }: { readonly body: Body; readonly options: PatchOptions },
): Promise<WriteResponse> {
  const { dryRun } = options;
  const configured = configurationApplier(request, { body, options });
  const change = async (current: StoredItem | undefined): Promise<Decoded> => {
    const decoded = await withConvertedObjects(registry, request, (registry) =>
      configured(registry, current),
    );
    matchNamespace(request, decoded.object.metadata);
    matchName(request, decoded.object.metadata);
    return decoded;
  };
  const wanted = { change, uid: undefined, dryRun, asked: options };
  return write(registry, request, { applies: true, ...wanted });
}

export interface Change {
  /** The wanted object, made from what is there now. */
  readonly change: (current: StoredItem | undefined) => Decoded | Promise<Decoded>;
  /** What is there must have this uid. */
  readonly uid: string | undefined;
  readonly dryRun: boolean;
  /**
   * Server-side apply: an object that is not there is created, whatever the kind says of updates.
   */
  readonly applies?: boolean;
  /** What the client asked for, for those who judge it. */
  readonly asked?: WriteOptions | undefined;
}

/** Changes the request's object, or one of its subresources, until nobody else is faster. */
export async function write(
  registry: RegistryContext,
  request: ResourceRequest,
  change: Change,
): Promise<WriteResponse> {
  const place = { key: storageKey(request), context: request.context };
  return retryOnConflict(registry, place, (entry) =>
    entry === undefined
      ? createByUpdate(registry, request, change)
      : replace(registry, request, { entry, ...change }),
  );
}

type Outcome = AttemptResult<WriteResponse>;

async function createByUpdate(
  registry: RegistryContext,
  request: ResourceRequest,
  { change, uid, dryRun, asked, applies = false }: Change,
): Promise<Outcome> {
  const { createOnUpdate } = request.resource.kind.rules;
  if (!(createOnUpdate || applies) || request.subresource !== "") {
    throw notFound(request.resource, request.name);
  }
  checkPreconditions(registry, request, { uid, current: undefined });
  const creation = { dryRun, asked, applies, ...(await change(undefined)) };
  delete creation.object.metadata.resourceVersion;
  try {
    const response = await attemptCreation(registry, request, creation);
    if (response !== undefined) return { response };
  } catch (error) {
    throw withWarnings(error, creation.warnings);
  }
  const { entry } = await registry.store.get(storageKey(request), request.context);
  return { current: entry };
}

interface Replacement extends Change {
  readonly entry: Entry;
}

async function replace(
  registry: RegistryContext,
  request: ResourceRequest,
  { change, uid, dryRun, entry, asked, applies = false }: Replacement,
): Promise<Outcome> {
  const current = new StoredItem(registry, request, entry);
  const old = current.object;
  checkPreconditions(registry, request, { uid, current });
  const decoded = await change(current);
  const attempt = async (hold: AllocationTransaction): Promise<Outcome> => {
    const wanted = { dryRun, entry, asked, applies, ...decoded };
    await prepareReplacement(registry, request, { old, hold, ...wanted });
    return swap(registry, request, wanted);
  };
  const allocator = allocatorOf(registry, request);
  try {
    return await withAllocations(allocator, attempt, (outcome) => "response" in outcome);
  } catch (error) {
    throw withWarnings(error, decoded.warnings);
  }
}

/** Everything between the decoded object and the store. Changes `object` in place. */
async function prepareReplacement(
  registry: RegistryContext,
  request: ResourceRequest,
  replacing: Swap & { readonly old: any; readonly hold: AllocationTransaction },
): Promise<void> {
  const { object, old, warnings, dryRun, entry, hold, asked } = replacing;
  const pause = yieldEvery();
  const { resource } = request;
  const { hooks } = resource.kind;
  const context = hookContext(registry, request, warnings);
  const options = asked && writeOperationOptions("UpdateOptions", asked);
  const attributes: AdmissionAttributes = {
    request,
    operation: "update",
    dryRun,
    object,
    old,
    options,
  };
  await mutate(registry, attributes, warnings);
  matchPlace(request, object.metadata);
  dedupeOwnerReferences(object.metadata, warnings);
  keepTimestamps(resource, object, old);
  checkResourceVersion(request, object.metadata, entry.modRevision);

  preserveSystemFields(object.metadata, old.metadata);
  // Hooks take parts of the old object over; a copy keeps the two apart.
  hooks.prepareUpdate?.(object, deepClone(old), context);
  await hold.reserve(attributes);
  updateGeneration(resource, object, old);

  await validateUpdate(resource, object, { old, context });
  append(warnings, hooks.warnings?.(object, old, context) ?? []);
  await pause();
  await runHandlers(registry.validating, attributes, warnings);
}

interface Swap extends Creation {
  /** What is to be replaced. */
  readonly entry: Entry;
}

/**
 * Compare-and-swap; an object whose last finalizer went while it is being deleted is removed
 * instead.
 */
async function swap(
  registry: RegistryContext,
  request: ResourceRequest,
  { object, warnings, dryRun, entry, applies = false }: Swap,
): Promise<Outcome> {
  const { resource, context } = request;
  const { key, modRevision } = entry;
  nullEmptyCollections(resource.hub.struct, object);
  const value = encodeStored(registry, resource, object);
  const respondWith = (written: Pick<Entry, "key" | "value" | "modRevision">): Outcome => {
    const item = itemOf(registry, request, { entry: written, object });
    return { response: { item, created: false, warnings } };
  };
  const goes = isReadyToDelete(resource, object);
  if (dryRun) return respondWith({ key, value, modRevision });
  const isFresh = entry.encryption?.stale !== true;
  if (!goes && isFresh && Buffer.compare(value, entry.value) === 0) return respondWith(entry);
  refuseChangedDefinition(registry, request);
  const { store } = registry;
  const write = (fitting: Uint8Array): Promise<WriteOutcome> =>
    store.update(key, modRevision, fitting, lifeOf(registry, request));
  const outcome = goes
    ? await store.delete(key, modRevision, context)
    : await writeWithSizeFallback(registry, resource, { object, applies, write });
  if (!outcome.done) return { current: outcome.current };
  noteNamespace(registry, request, object);
  if (goes) await releaseAllocations(registry, request, object);
  return respondWith(goes ? { key, value, modRevision } : outcome.entry);
}

/** A request that fails tells what it would have warned of, too. */
function withWarnings(error: unknown, warnings: readonly string[]): unknown {
  if (!(error instanceof StatusError) || warnings.length === 0) return error;
  const all = new Set([...warnings, ...error.warnings]);
  return new StatusError(error.status, error.headers, [...all]);
}

/** All admission at once, for what is written in another way. */
export async function admitAll(
  registry: RegistryContext,
  attributes: AdmissionAttributes,
  warnings: string[],
): Promise<void> {
  await mutate(registry, attributes, warnings);
  await runHandlers(registry.validating, attributes, warnings);
}

/** What admission made of an object must still be at home where it will be stored. */
function matchPlace(request: ResourceRequest, metadata: any): void {
  matchNamespace(request, metadata);
  if (request.name !== "") matchName(request, metadata);
}

function mutate(
  registry: RegistryContext,
  attributes: AdmissionAttributes,
  warnings: string[],
): Promise<void> | undefined {
  const owners = managedFieldsOf(attributes);
  return runHandlers(registry.mutating, attributes, warnings)?.then(() => {
    warnings.push(...restoreManagedFields(attributes, owners));
  });
}

function itemOf(
  registry: RegistryContext,
  request: ResourceRequest,
  written: { readonly entry: Pick<Entry, "key" | "value" | "modRevision">; readonly object: any },
): StoredItem {
  const { entry, object } = written;
  // What was stored in another version may come back as less than it was.
  const { stored, kind } = request.resource;
  if (stored.convert !== "hub" || kind.custom?.conversion !== undefined) {
    return new StoredItem(registry, request, entry);
  }
  setResourceVersion(object, entry.modRevision);
  return new StoredItem(registry, request, entry, { object });
}

function lifeOf(
  registry: RegistryContext,
  { resource, context }: ResourceRequest,
): { readonly signal: AbortSignal; readonly ttlSeconds?: number } {
  return resource.kind.rules.expires
    ? { signal: context.signal, ttlSeconds: registry.eventTtlSeconds }
    : context;
}

function noteNamespace(
  registry: RegistryContext,
  { resource }: ResourceRequest,
  object: any,
): void {
  if (isNamespace(resource)) registry.namespaces.invalidate(object.metadata.name);
}
