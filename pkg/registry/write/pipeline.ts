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
 * The steps of each write verb, in kube-apiserver's order. After a conflict the steps run again on
 * the newer object, as in GuaranteedUpdate. A dry run (`dryRun=All`) skips only the write to the store.
 */

/** Admits, prepares, validates and stores a new object. */
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
  step.prepareStored,
  step.nullEmptyCollections,
  compareAndCreate,
  step.invalidateNamespace,
];

/** Admits, prepares, validates and stores a changed object. */
const storeChangedObject: readonly WriteStep[] = [
  step.mutatingAdmission,
  step.restoreManagedFields,
  step.matchNamespace,
  step.dedupeOwnerReferences,
  step.keepManagedFieldsTimestamps,
  step.checkResourceVersion,
  step.preserveSystemFields,
  step.prepareUpdate,
  step.reserveAllocations,
  step.updateGeneration,
  step.validateUpdate,
  step.addWarnings,
  step.yieldIfLong,
  step.validatingAdmission,
  step.prepareStored,
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

/** Stores an object of another cluster unchanged: no admission, no allocation, no reset fields. */
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

/** The steps of a verb that addresses an object by name. */
interface WritePath {
  /** Run once, before the stored object is read. */
  readonly before: readonly WriteStep[];
  /** One attempt to change the stored object. */
  readonly existing: readonly WriteStep[];
  /** One attempt when no object is stored under the name. */
  readonly missing: readonly WriteStep[];
}

/** PUT: replaces an object, or creates a missing one if its kind has `rules.createOnUpdate`. */
export const updatePath: WritePath = {
  before: [step.decodeBody, step.yieldIfLong, step.matchPath, step.saveDecodedBody],
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

/** PATCH with a JSON Patch (RFC 6902), a JSON Merge Patch (RFC 7396) or a strategic merge patch. */
export const patchPath: WritePath = {
  before: [],
  existing: [step.applyPatch, step.updateManagedFields, step.matchPath, ...storeChangedObject],
  missing: [step.refuseMissingObject],
};

/** Server-side apply (KEP-555): merges by field manager, and creates a missing object. */
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

/** A write through a subresource with a body of another kind, such as `scale` or `binding`. */
export const subresourcePath: WritePath = {
  before: [],
  existing: [step.checkUid, step.applySubresource, ...storeChangedObject],
  missing: [step.refuseMissingObject],
};

/** Names tried for a create with `generateName` (KEP-4420, RetryGenerateName). */
const nameAttempts = 8;

/** Creates the object of a POST. Throws 409 if its name is taken. */
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
    throw withWarnings(await alreadyExistsError(write), write.warnings);
  }
}

/** Stores an object of another cluster unchanged. Throws 409 if its name is taken. */
export async function restore(
  registry: RegistryContext,
  request: ResourceRequest,
  body: Body,
): Promise<WriteResponse> {
  const options: WriteOptions = { dryRun: false, fieldManager: "", fieldValidation: "Warn" };
  // The cluster that the object comes from has already decided about privileged containers.
  const permissive = { ...registry, allowPrivileged: true };
  const write = new Write(permissive, request, { dryRun: false, input: { body, options } });
  write.begin(undefined);
  await runAttempt(restoreSteps, write);
  if (write.response !== undefined) return write.response;
  throw withWarnings(await alreadyExistsError(write), write.warnings);
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

/** Changes the object by `change`, which derives from the body of one of its subresources. */
export function changeBySubresource(
  registry: RegistryContext,
  request: ResourceRequest,
  change: SubresourceChange,
): Promise<WriteResponse> {
  return runPath(subresourcePath, new Write(registry, request, change));
}

/** Attempts the write until no other writer interferes. */
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
    const decoded = write.current?.decodeAhead();
    if (decoded !== undefined) await decoded;
    await runAttempt(entry === undefined ? missing : existing, write);
    const { response, conflict, stored } = write;
    if (response !== undefined) return { response, isStored: stored };
    return conflict ?? { current: (await registry.store.get(key, context)).entry };
  });
}

/** The 409 of a create whose name is taken; it says whether the existing object is being deleted. */
async function alreadyExistsError({ registry, request, object }: Write): Promise<Error> {
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
