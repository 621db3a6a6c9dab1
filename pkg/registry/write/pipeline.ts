import { alreadyExists, alreadyExistsDeleting, generatedNameTaken } from "#meta";
import { isReadable, storageKey, StoredItem } from "../codec/stored.ts";
import type { RegistryContext } from "../context.ts";
import type { Body, ResourceRequest, WriteOptions, WriteResponse } from "../contract.ts";
import { compareAndCreate, compareAndSwap } from "./compare-and-swap.ts";
import * as step from "./steps.ts";
import {
  type ObjectChange,
  type PatchInput,
  runAttempt,
  withWarnings,
  Write,
  type WriteInput,
  type WriteStep,
} from "./write.ts";
import { retryOnConflict } from "./write-conflict.ts";

/**
 * The write path, top to bottom. A write runs the list of its verb; after a conflict the whole list
 * runs again with the newer object. A dry run takes the same path and stops before the store.
 */

/** From the wanted new object to the store. */
const storeNewObject: readonly WriteStep[] = [
  step.mutatingAdmission,
  step.restoreManagedFields,
  step.matchPath,
  step.dedupeOwnerReferences,
  step.fillSystemFields,
  step.generateName,
  step.initializeGeneration,
  step.prepareCreate,
  step.reserveAllocations,
  step.validateCreate,
  step.addWarnings,
  step.yieldIfLong,
  step.validatingAdmission,
  step.refuseResourceVersion,
  step.nullEmptyCollections,
  compareAndCreate,
  step.invalidateNamespace,
];

/** From the wanted object to the store, for an object that is there. */
const storeChangedObject: readonly WriteStep[] = [
  step.mutatingAdmission,
  step.restoreManagedFields,
  step.matchPath,
  step.dedupeOwnerReferences,
  step.keepManagedFieldsTimes,
  step.checkResourceVersion,
  step.preserveSystemFields,
  step.prepareUpdate,
  step.reserveAllocations,
  step.updateGeneration,
  step.validateUpdate,
  step.addWarnings,
  step.yieldIfLong,
  step.validatingAdmission,
  step.nullEmptyCollections,
  compareAndSwap,
  step.invalidateNamespace,
  step.releaseAllocations,
];

/** POST to a collection. */
export const createSteps: readonly WriteStep[] = [
  step.decodeBody,
  step.yieldIfLong,
  step.refuseTerminatingDefinition,
  step.resetSystemFields,
  step.matchPath,
  step.updateManagedFields,
  step.yieldIfLong,
  ...storeNewObject,
];

/** An object as another cluster had it: stored without admission, allocation or reset fields. */
export const restoreSteps: readonly WriteStep[] = [
  step.decodeBody,
  step.yieldIfLong,
  step.refuseTerminatingDefinition,
  step.matchPath,
  step.dropResourceVersion,
  step.fillAbsentSystemFields,
  step.validateCreate,
  step.yieldIfLong,
  step.nullEmptyCollections,
  compareAndCreate,
  step.invalidateNamespace,
];

/** The lists of a verb whose object may be there. */
interface WritePath {
  /** Once, before the object is read. */
  readonly before: readonly WriteStep[];
  /** For a stored object; again after a conflict. */
  readonly existing: readonly WriteStep[];
  /** Where there is none. */
  readonly missing: readonly WriteStep[];
}

/** PUT: creates where the kind says so. */
export const updatePath: WritePath = {
  before: [step.decodeBody, step.yieldIfLong, step.matchPath, step.keepDecodedBody],
  existing: [step.checkUid, step.copyDecodedBody, step.updateManagedFields, ...storeChangedObject],
  missing: [
    step.requireCreateOnUpdate,
    step.checkUid,
    step.copyDecodedBody,
    step.updateManagedFields,
    step.dropResourceVersion,
    ...storeNewObject,
  ],
};

/** PATCH with a JSON, merge or strategic merge patch. */
export const patchPath: WritePath = {
  before: [],
  existing: [step.applyPatch, step.updateManagedFields, step.matchPath, ...storeChangedObject],
  missing: [step.refuseMissingObject],
};

/** Server-side apply: a PATCH that may create, and merges by field manager. */
export const applyPath: WritePath = {
  before: [],
  existing: [step.applyConfiguration, step.matchPath, ...storeChangedObject],
  missing: [
    step.requireMainResource,
    step.applyConfiguration,
    step.matchPath,
    step.dropResourceVersion,
    ...storeNewObject,
  ],
};

/** A subresource that changes the object its own way, such as scale. */
export const subresourcePath: WritePath = {
  before: [],
  existing: [step.checkUid, step.applySubresource, ...storeChangedObject],
  missing: [step.refuseMissingObject],
};

/** How many generated names are tried when they are taken. */
const nameAttempts = 8;

export async function create(
  registry: RegistryContext,
  request: ResourceRequest,
  input: WriteInput,
): Promise<WriteResponse> {
  const write = new Write(registry, request, { dryRun: input.options.dryRun, input });
  for (let attempt = 1; ; attempt++) {
    write.begin(undefined);
    await runAttempt(createSteps, write);
    if (write.response !== undefined) return write.response;
    if (write.generatesName && attempt < nameAttempts) continue;
    throw withWarnings(await nameTaken(write), write.warnings);
  }
}

export async function restore(
  registry: RegistryContext,
  request: ResourceRequest,
  body: Body,
): Promise<WriteResponse> {
  const options: WriteOptions = { dryRun: false, fieldManager: "", fieldValidation: "Warn" };
  // Whether privileged containers may run was the decision of the cluster that had the object.
  const permissive = { ...registry, allowPrivileged: true };
  const write = new Write(permissive, request, { dryRun: false, input: { body, options } });
  write.begin(undefined);
  await runAttempt(restoreSteps, write);
  if (write.response !== undefined) return write.response;
  throw withWarnings(await nameTaken(write), write.warnings);
}

export function update(
  registry: RegistryContext,
  request: ResourceRequest,
  input: WriteInput,
): Promise<WriteResponse> {
  const write = new Write(registry, request, { dryRun: input.options.dryRun, input });
  return runPath(updatePath, write);
}

export function patch(
  registry: RegistryContext,
  request: ResourceRequest,
  input: PatchInput,
): Promise<WriteResponse> {
  const { dryRun, patchType } = input.options;
  const applies = patchType === "apply";
  const write = new Write(registry, request, { dryRun, patch: input, applies });
  return runPath(applies ? applyPath : patchPath, write);
}

interface SubresourceChange {
  readonly change: ObjectChange;
  readonly uid: string | undefined;
  readonly dryRun: boolean;
}

/** Writes the object of a subresource. */
export function changeBySubresource(
  registry: RegistryContext,
  request: ResourceRequest,
  change: SubresourceChange,
): Promise<WriteResponse> {
  return runPath(subresourcePath, new Write(registry, request, change));
}

async function runPath(
  { before, existing, missing }: WritePath,
  write: Write,
): Promise<WriteResponse> {
  if (before.length > 0) await runAttempt(before, write);
  const { registry, request } = write;
  const { context } = request;
  const key = storageKey(request);
  const target = { key, context, optimistic: !write.dryRun };
  return retryOnConflict(registry, target, async (entry) => {
    write.begin(entry);
    await runAttempt(entry === undefined ? missing : existing, write);
    const { response, conflict, stored } = write;
    if (response !== undefined) return { response, isStored: stored };
    return conflict ?? { current: (await registry.store.get(key, context)).entry };
  });
}

async function nameTaken({ registry, request, object }: Write): Promise<Error> {
  const { resource, context } = request;
  const { name, generateName } = object.metadata;
  if (generateName) return generatedNameTaken(resource, name);
  const { entry } = await registry.store.get(storageKey(request, name), context);
  if (entry === undefined || !isReadable(entry)) return alreadyExists(resource, name);
  const { metadata } = new StoredItem(registry, request, entry).object;
  return metadata.deletionTimestamp
    ? alreadyExistsDeleting(resource, name)
    : alreadyExists(resource, name);
}
