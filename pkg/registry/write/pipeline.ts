import { append, deepClone, turns } from "#base";
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
import { writeOptionsAsked } from "../admission/options.ts";
import { decodeBody, type Decoded } from "./decode-body.ts";
import type {
  Body,
  PatchOptions,
  Target,
  WriteAnswer,
  WriteOptions,
  AdmissionAttributes,
} from "../contract.ts";
import { applied } from "./server-side-apply.ts";
import { refuseOutdated, refuseWhileTerminating } from "./custom-resource-errors.ts";
import { dropEmpties } from "../codec/null-empty-collections.ts";
import { type Environment, hookContext } from "../context.ts";
import { writeFitting } from "./size-fallback.ts";
import { type Attempt, untilAnswered } from "./write-conflict.ts";
import { isNamespace } from "../admission/namespace-lifecycle.ts";
import {
  dropRepeatedOwners,
  fillSystemFields,
  keepSystemFields,
  matchName,
  matchNamespace,
  moveGeneration,
  startGeneration,
  wipeSystemFields,
} from "./metadata.ts";
import { applyPatch } from "./patch.ts";
import { inVersions } from "../codec/other-versions.ts";
import { keepTimes, own, ownersOf, restoreOwners } from "./managed-fields.ts";
import { mayGo } from "../delete/delete.ts";
import {
  allocatorOf,
  type Hold,
  holding,
  releaseAll,
} from "../allocation/allocation-transaction.ts";
import {
  encodeStored,
  isReadable,
  keyOf,
  setResourceVersion,
  StoredItem,
} from "../codec/stored.ts";
import { validateCreate, validateUpdate } from "./validate.ts";
import { checkPreconditions, checkVersion } from "./preconditions.ts";

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
  environment: Environment,
  target: Target,
  { body, options }: { readonly body: Body; readonly options: WriteOptions },
): Promise<WriteAnswer> {
  const { dryRun, fieldManager } = options;
  for (let attempt = 1; ; attempt++) {
    const turn = turns();
    const decoded = decodeBody(environment, target, body, options);
    await turn();
    refuseWhileTerminating(target);
    const { object, warnings } = decoded;
    const isMadeUp = !object.metadata.name && Boolean(object.metadata.generateName);
    try {
      wipeSystemFields(object.metadata);
      matchNamespace(target, object.metadata);
      await inVersions(environment, target, (environment) =>
        own(environment, target, { object, old: undefined, fieldManager }),
      );
      await turn();
      const creation = { dryRun, asked: options, object, warnings };
      const answer = await attemptCreation(environment, target, creation);
      if (answer !== undefined) return answer;
      if (!isMadeUp || attempt === nameAttempts) throw await nameTaken(environment, target, object);
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
  environment: Environment,
  target: Target,
  creation: Creation,
): Promise<WriteAnswer | undefined> {
  const attempt = async (hold: Hold): Promise<WriteAnswer | undefined> => {
    await prepareCreation(environment, target, { hold, ...creation });
    return storeNew(environment, target, creation);
  };
  const allocator = allocatorOf(environment, target);
  return holding(allocator, attempt, (answer) => answer !== undefined);
}

/** Everything between the decoded object and the store. Changes `object` in place. */
async function prepareCreation(
  environment: Environment,
  target: Target,
  { object, warnings, dryRun, asked, hold }: Creation & { readonly hold: Hold },
): Promise<void> {
  const turn = turns();
  const context = hookContext(environment, target, warnings);
  const { kind } = target.resource;
  const options = asked && writeOptionsAsked("CreateOptions", asked);
  const operation = "create";
  const attributes = { target, operation, dryRun, object, old: undefined, options } as const;
  await mutate(environment, attributes, warnings);
  matchPlace(target, object.metadata);
  dropRepeatedOwners(object.metadata, warnings);

  const { metadata } = object;
  fillSystemFields(environment, metadata);
  if (!metadata.name && metadata.generateName) {
    metadata.name = environment.identities.name(metadata.generateName);
  }
  startGeneration(kind.rules, metadata);
  append(warnings, kind.hooks.earlyWarnings?.(object, context) ?? []);
  kind.hooks.prepareCreate?.(object, context);
  await hold.reserve(attributes);

  await validateCreate(target.resource, object, context);
  append(warnings, kind.hooks.warnings?.(object, undefined, context) ?? []);
  await turn();
  await runHandlers(environment.validating, attributes, warnings);
}

/** Undefined when the name is taken. */
async function storeNew(
  environment: Environment,
  target: Target,
  { object, warnings, dryRun, applies = false }: Creation,
): Promise<WriteAnswer | undefined> {
  if (/^0*[1-9]\d*$/.test(object.metadata.resourceVersion ?? "")) {
    throw plainFailure("resourceVersion should not be set on objects to be created");
  }
  delete object.metadata.resourceVersion;
  dropEmpties(target.resource.hub.struct, object);
  const key = keyOf(target, object.metadata.name);
  const { resource } = target;
  if (dryRun) {
    const value = encodeStored(environment, resource, object);
    const { entry } = await environment.store.get(key, target.life);
    if (entry !== undefined) return undefined;
    const item = itemOf(environment, target, { entry: { key, value, modRevision: 0 }, object });
    return { item, created: true, warnings };
  }
  refuseWhileTerminating(target);
  refuseOutdated(environment, target);
  const write = (value: Uint8Array): Promise<Entry | undefined> =>
    environment.store.create(key, value, lifeOf(environment, target));
  const written = await writeFitting(environment, resource, { object, applies, write });
  if (written === undefined) return undefined;
  noteNamespace(environment, target, object);
  return { item: itemOf(environment, target, { entry: written, object }), created: true, warnings };
}

async function nameTaken(environment: Environment, target: Target, object: any): Promise<Error> {
  const { name, generateName } = object.metadata;
  if (generateName) return generatedNameTaken(target.resource, name);
  const key = keyOf(target, name);
  const { entry } = await environment.store.get(key, target.life);
  if (entry === undefined || !isReadable(entry)) return alreadyExists(target.resource, name);
  const { metadata } = new StoredItem(environment, target, entry).object;
  return metadata.deletionTimestamp
    ? alreadyExistsDeleting(target.resource, name)
    : alreadyExists(target.resource, name);
}

/** PUT to an object or a subresource; creates where the kind says so. */
export async function update(
  environment: Environment,
  target: Target,
  { body, options }: { readonly body: Body; readonly options: WriteOptions },
): Promise<WriteAnswer> {
  const turn = turns();
  const decoded = decodeBody(environment, target, body, options);
  await turn();
  matchNamespace(target, decoded.object.metadata);
  matchName(target, decoded.object.metadata);
  const uid: string | undefined = decoded.object.metadata.uid || undefined;
  const { fieldManager } = options;
  const change = async (current: StoredItem | undefined): Promise<Decoded> => {
    // The path changes its object, and may be walked again.
    const object = deepClone(decoded.object);
    await inVersions(environment, target, (environment) =>
      own(environment, target, { object, old: current?.object, fieldManager }),
    );
    return { object, warnings: [...decoded.warnings] };
  };
  return write(environment, target, { change, uid, dryRun: options.dryRun, asked: options });
}

/** PATCH of an object or a subresource. */
export async function patch(
  environment: Environment,
  target: Target,
  { body, options }: { readonly body: Body; readonly options: PatchOptions },
): Promise<WriteAnswer> {
  if (options.patchType === "apply") return apply(environment, target, { body, options });
  const patched = applyPatch(environment, target, { body, options });
  const { fieldManager } = options;
  const change = async (current: StoredItem | undefined): Promise<Decoded> => {
    if (current === undefined) throw notFound(target.resource, target.name);
    const decoded = patched(current);
    const { object } = decoded;
    await inVersions(environment, target, (environment) =>
      own(environment, target, { object, old: current.object, fieldManager }),
    );
    matchNamespace(target, object.metadata);
    matchName(target, object.metadata);
    return decoded;
  };
  const { dryRun } = options;
  return write(environment, target, { change, uid: undefined, dryRun, asked: options });
}

/** Server-side apply: a PATCH that may create, and merges by ownership. */
function apply(
  environment: Environment,
  target: Target,
  { body, options }: { readonly body: Body; readonly options: PatchOptions },
): Promise<WriteAnswer> {
  const { dryRun } = options;
  const configured = applied(target, { body, options });
  const change = async (current: StoredItem | undefined): Promise<Decoded> => {
    const decoded = await inVersions(environment, target, (environment) =>
      configured(environment, current),
    );
    matchNamespace(target, decoded.object.metadata);
    matchName(target, decoded.object.metadata);
    return decoded;
  };
  const wanted = { change, uid: undefined, dryRun, asked: options };
  return write(environment, target, { applies: true, ...wanted });
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

/** Changes the target's object, or one of its subresources, until nobody else is faster. */
export async function write(
  environment: Environment,
  target: Target,
  change: Change,
): Promise<WriteAnswer> {
  const place = { key: keyOf(target), life: target.life };
  return untilAnswered(environment, place, (entry) =>
    entry === undefined
      ? createByUpdate(environment, target, change)
      : replace(environment, target, { entry, ...change }),
  );
}

type Outcome = Attempt<WriteAnswer>;

async function createByUpdate(
  environment: Environment,
  target: Target,
  { change, uid, dryRun, asked, applies = false }: Change,
): Promise<Outcome> {
  const { createOnUpdate } = target.resource.kind.rules;
  if (!(createOnUpdate || applies) || target.subresource !== "") {
    throw notFound(target.resource, target.name);
  }
  checkPreconditions(environment, target, { uid, current: undefined });
  const creation = { dryRun, asked, applies, ...(await change(undefined)) };
  delete creation.object.metadata.resourceVersion;
  try {
    const answer = await attemptCreation(environment, target, creation);
    if (answer !== undefined) return { answer };
  } catch (error) {
    throw withWarnings(error, creation.warnings);
  }
  const { entry } = await environment.store.get(keyOf(target), target.life);
  return { current: entry };
}

interface Replacement extends Change {
  readonly entry: Entry;
}

async function replace(
  environment: Environment,
  target: Target,
  { change, uid, dryRun, entry, asked, applies = false }: Replacement,
): Promise<Outcome> {
  const current = new StoredItem(environment, target, entry);
  const old = current.object;
  checkPreconditions(environment, target, { uid, current });
  const decoded = await change(current);
  const attempt = async (hold: Hold): Promise<Outcome> => {
    const wanted = { dryRun, entry, asked, applies, ...decoded };
    await prepareReplacement(environment, target, { old, hold, ...wanted });
    return swap(environment, target, wanted);
  };
  const allocator = allocatorOf(environment, target);
  try {
    return await holding(allocator, attempt, (outcome) => "answer" in outcome);
  } catch (error) {
    throw withWarnings(error, decoded.warnings);
  }
}

/** Everything between the decoded object and the store. Changes `object` in place. */
async function prepareReplacement(
  environment: Environment,
  target: Target,
  replacing: Swap & { readonly old: any; readonly hold: Hold },
): Promise<void> {
  const { object, old, warnings, dryRun, entry, hold, asked } = replacing;
  const turn = turns();
  const { resource } = target;
  const { hooks } = resource.kind;
  const context = hookContext(environment, target, warnings);
  const options = asked && writeOptionsAsked("UpdateOptions", asked);
  const attributes: AdmissionAttributes = {
    target,
    operation: "update",
    dryRun,
    object,
    old,
    options,
  };
  await mutate(environment, attributes, warnings);
  matchPlace(target, object.metadata);
  dropRepeatedOwners(object.metadata, warnings);
  keepTimes(resource, object, old);
  checkVersion(target, object.metadata, entry.modRevision);

  keepSystemFields(object.metadata, old.metadata);
  // Hooks take parts of the old object over; a copy keeps the two apart.
  hooks.prepareUpdate?.(object, deepClone(old), context);
  await hold.reserve(attributes);
  moveGeneration(resource, object, old);

  await validateUpdate(resource, object, { old, context });
  append(warnings, hooks.warnings?.(object, old, context) ?? []);
  await turn();
  await runHandlers(environment.validating, attributes, warnings);
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
  environment: Environment,
  target: Target,
  { object, warnings, dryRun, entry, applies = false }: Swap,
): Promise<Outcome> {
  const { resource, life } = target;
  const { key, modRevision } = entry;
  dropEmpties(resource.hub.struct, object);
  const value = encodeStored(environment, resource, object);
  const answerWith = (written: Pick<Entry, "key" | "value" | "modRevision">): Outcome => {
    const item = itemOf(environment, target, { entry: written, object });
    return { answer: { item, created: false, warnings } };
  };
  const goes = mayGo(resource, object);
  if (dryRun) return answerWith({ key, value, modRevision });
  const isFresh = entry.encryption?.stale !== true;
  if (!goes && isFresh && Buffer.compare(value, entry.value) === 0) return answerWith(entry);
  refuseOutdated(environment, target);
  const { store } = environment;
  const write = (fitting: Uint8Array): Promise<WriteOutcome> =>
    store.update(key, modRevision, fitting, lifeOf(environment, target));
  const outcome = goes
    ? await store.delete(key, modRevision, life)
    : await writeFitting(environment, resource, { object, applies, write });
  if (!outcome.done) return { current: outcome.current };
  noteNamespace(environment, target, object);
  if (goes) await releaseAll(environment, target, object);
  return answerWith(goes ? { key, value, modRevision } : outcome.entry);
}

/** A request that fails tells what it would have warned of, too. */
function withWarnings(error: unknown, warnings: readonly string[]): unknown {
  if (!(error instanceof StatusError) || warnings.length === 0) return error;
  const all = new Set([...warnings, ...error.warnings]);
  return new StatusError(error.status, error.headers, [...all]);
}

/** All admission at once, for what is written in another way. */
export async function admitAll(
  environment: Environment,
  attributes: AdmissionAttributes,
  warnings: string[],
): Promise<void> {
  await mutate(environment, attributes, warnings);
  await runHandlers(environment.validating, attributes, warnings);
}

/** What admission made of an object must still be at home where it will be stored. */
function matchPlace(target: Target, metadata: any): void {
  matchNamespace(target, metadata);
  if (target.name !== "") matchName(target, metadata);
}

function mutate(
  environment: Environment,
  attributes: AdmissionAttributes,
  warnings: string[],
): Promise<void> | undefined {
  const owners = ownersOf(attributes);
  return runHandlers(environment.mutating, attributes, warnings)?.then(() => {
    warnings.push(...restoreOwners(attributes, owners));
  });
}

function itemOf(
  environment: Environment,
  target: Target,
  written: { readonly entry: Pick<Entry, "key" | "value" | "modRevision">; readonly object: any },
): StoredItem {
  const { entry, object } = written;
  // What was stored in another version may come back as less than it was.
  const { stored, kind } = target.resource;
  if (stored.convert !== "hub" || kind.custom?.conversion !== undefined) {
    return new StoredItem(environment, target, entry);
  }
  setResourceVersion(object, entry.modRevision);
  return new StoredItem(environment, target, entry, { object });
}

function lifeOf(
  environment: Environment,
  { resource, life }: Target,
): { readonly signal: AbortSignal; readonly ttlSeconds?: number } {
  return resource.kind.rules.expires
    ? { signal: life.signal, ttlSeconds: environment.eventTtlSeconds }
    : life;
}

function noteNamespace(environment: Environment, { resource }: Target, object: any): void {
  if (isNamespace(resource)) environment.namespaces.forget(object.metadata.name);
}
