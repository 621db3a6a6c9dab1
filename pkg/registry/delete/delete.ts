import { deepClone } from "#base";
import { conflict, invalid, notFound, type Resource, type Status } from "#meta";
import { Path, Problems } from "#schema";
import type { Entry } from "#storage";
import { runHandlers } from "../admission/handler.ts";
import { deleteOptionsAsked } from "../admission/options.ts";
import type { DeleteResponse, DeleteOptions, ResourceRequest } from "../contract.ts";
import type { RegistryContext } from "../context.ts";
import { gracefully } from "./graceful.ts";
import { type Attempt, type Outdated, untilAnswered } from "../write/write-conflict.ts";
import { isNamespace, namespaceLifecycle } from "../admission/namespace-lifecycle.ts";
import { successor, timestamp } from "../write/metadata.ts";
import { releaseAll } from "../allocation/allocation-transaction.ts";
import { encodeStored, keyOf, setResourceVersion, StoredItem } from "../codec/stored.ts";
import { canBeRead, removeUnreadable } from "./unreadable.ts";

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

/** DELETE of one object. */
export async function remove(
  registry: RegistryContext,
  request: ResourceRequest,
  options: DeleteOptions,
): Promise<DeleteResponse> {
  checkOptions(registry, options);
  const { dryRun } = options;
  const asked = { operation: "delete", dryRun, options: deleteOptionsAsked(options) } as const;
  const attributes = { ...asked, request, object: undefined };
  // Before all others look at it: they are not asked about what cannot be read.
  await namespaceLifecycle(registry, { ...attributes, old: undefined });
  const place = { key: keyOf(request), context: request.context };
  return untilAnswered(registry, place, async (entry) => {
    if (entry === undefined) throw notFound(request.resource, request.name);
    const current = new StoredItem(registry, request, entry);
    if (options.ignoreReadError === true && !canBeRead(current)) {
      return eraseUnreadable(registry, request, { entry, dryRun });
    }
    const warnings: string[] = [];
    const steps = [...registry.mutating, ...registry.validating];
    await runHandlers(steps, { ...attributes, old: current.object }, warnings);
    checkPreconditions(request, current, options);
    const outcome = await removeOnce(registry, request, { options, entry, current });
    return "answer" in outcome ? { answer: { ...outcome.answer, warnings } } : outcome;
  });
}

async function eraseUnreadable(
  registry: RegistryContext,
  request: ResourceRequest,
  { entry, dryRun }: { readonly entry: Entry; readonly dryRun: boolean },
): Promise<Outcome> {
  if (dryRun || (await removeUnreadable(registry, request, entry))) {
    return { answer: { status: deleted(request, undefined) } };
  }
  const { entry: current } = await registry.store.get(entry.key, request.context);
  return { current };
}

/** One attempt: what is to go, as it stands in the store. */
interface Removal {
  readonly options: DeleteOptions;
  readonly entry: Entry;
  readonly current: StoredItem;
}

type Outcome = Attempt<DeleteResponse>;

interface Marked {
  readonly answer: { readonly item: StoredItem; readonly pending: true };
}

function removeOnce(
  registry: RegistryContext,
  request: ResourceRequest,
  removal: Removal,
): Promise<Outcome> {
  const { kind } = request.resource;
  const isFirst = !removal.current.object.metadata.deletionTimestamp;
  if (isNamespace(request.resource)) return removeNamespace(registry, request, removal);
  if (kind.hooks.markDeleting !== undefined && isFirst) {
    return markOnly(registry, request, removal);
  }
  return removeObject(registry, request, removal);
}

/** The kind has its own way of going: whoever carries it out takes the kind's finalizer away. */
function markOnly(
  registry: RegistryContext,
  request: ResourceRequest,
  removal: Removal,
): Promise<Outcome> {
  const object = deepClone(removal.current.object);
  const now = registry.timestamp();
  object.metadata.deletionTimestamp = now;
  const { api } = registry.catalog.domain;
  request.resource.kind.hooks.markDeleting?.(object, { api, now });
  return store(registry, request, { ...removal, object });
}

async function removeObject(
  registry: RegistryContext,
  request: ResourceRequest,
  removal: Removal,
): Promise<Outcome> {
  const { current, options } = removal;
  const { object } = current;
  const graceful = gracefully(request, object, { options, now: registry.clock.now() });
  if (graceful?.step === "pending") return { answer: { item: current, pending: true } };
  const finalizers = finalizersFor(request.resource, object.metadata.finalizers ?? [], options);
  if (graceful?.step === "marked") {
    const { finalizers: _before, ...metadata } = graceful.metadata;
    if (finalizers.length > 0) metadata.finalizers = finalizers;
    const marked = { ...object, metadata };
    const outcome = await store(registry, request, { ...removal, object: marked });
    if (finalizers.length > 0 || graceful.seconds > 0 || "current" in outcome) return outcome;
    return { answer: await eraseMarked(registry, request, { options, ...outcome }) };
  }
  if (finalizers.length === 0) return erase(registry, request, removal);
  const marked = { ...object, metadata: { ...object.metadata, finalizers } };
  markAsDeleting(marked.metadata, registry.clock.now());
  return store(registry, request, { ...removal, object: marked });
}

/**
 * The first deletion of a namespace marks it as terminating; the namespace controller then empties
 * it and finalizes its spec. Kubernetes sets no grace period here.
 */
async function removeNamespace(
  registry: RegistryContext,
  request: ResourceRequest,
  removal: Removal,
): Promise<Outcome> {
  const { object } = removal.current;
  const { metadata, status } = object;
  if (metadata.deletionTimestamp) {
    const emptied = (object.spec.finalizers ?? []).length === 0;
    if (emptied) return removeObject(registry, request, removal);
    return { answer: { item: removal.current, pending: true } };
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
  const outcome = await store(registry, request, { ...removal, object: marked });
  registry.namespaces.forget(request.name);
  return outcome;
}

/** Writes the marked object, unless it is as it was. */
async function store(
  registry: RegistryContext,
  request: ResourceRequest,
  { options, entry, object }: Removal & { readonly object: any },
): Promise<Marked | Outdated> {
  const value = encodeStored(registry, request.resource, object);
  const answerWith = (written: Entry): Marked => {
    const changed = { ...object, metadata: { ...object.metadata } };
    setResourceVersion(changed, written.modRevision);
    const item = new StoredItem(registry, request, written, { object: changed });
    return { answer: { item, pending: true } };
  };
  if (options.dryRun) return answerWith({ ...entry, value });
  if (Buffer.compare(value, entry.value) === 0) return answerWith(entry);
  const { signal } = request.context;
  const outcome = await registry.store.update(entry.key, entry.modRevision, value, { signal });
  return outcome.done ? answerWith(outcome.entry) : { current: outcome.current };
}

async function erase(
  registry: RegistryContext,
  request: ResourceRequest,
  { options, entry, current }: Removal,
): Promise<Outcome> {
  if (options.dryRun) return { answer: gone(request, current) };
  const { key, modRevision } = entry;
  const outcome = await registry.store.delete(key, modRevision, request.context);
  if (!outcome.done) return { current: outcome.current };
  if (isNamespace(request.resource)) registry.namespaces.forget(request.name);
  await releaseAll(registry, request, current.object);
  return { answer: gone(request, current.deletedAt(outcome.revision)) };
}

/**
 * The second half of a deletion that grants no time: the object is marked and goes, whatever
 * others do to it meanwhile, even if they remove it first.
 */
async function eraseMarked(
  registry: RegistryContext,
  request: ResourceRequest,
  { options, answer }: Marked & { readonly options: DeleteOptions },
): Promise<DeleteResponse> {
  const { item } = answer;
  let { revision } = item;
  while (!options.dryRun) {
    const outcome = await registry.store.delete(item.key, revision, request.context);
    if (outcome.done) {
      await releaseAll(registry, request, item.object);
      return gone(request, item.deletedAt(outcome.revision));
    }
    if (outcome.current === undefined) break;
    revision = outcome.current.modRevision;
  }
  return gone(request, item);
}

/** The object or a Success Status, as the kind has it. */
function gone({ resource, name }: ResourceRequest, item: StoredItem): DeleteResponse {
  if (resource.kind.rules.deleteReturnsObject) return { item, pending: false };
  return { status: deleted({ resource, name }, item.object.metadata.uid) };
}

function deleted(
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
    metadata.generation = successor(generation);
  }
  const at = metadata.deletionTimestamp;
  if (!at || Date.parse(at) > now) metadata.deletionTimestamp = timestamp(now);
  metadata.deletionGracePeriodSeconds = 0;
}

/** True when an object that is being deleted has nothing left to wait for. */
export function mayGo(resource: Resource, object: any): boolean {
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

/** Kinds whose deletion begins with a mark have words of their own for the same. */
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

function checkOptions(
  { catalog }: RegistryContext,
  { orphanDependents, propagationPolicy }: DeleteOptions,
): void {
  if (orphanDependents === undefined || propagationPolicy === undefined) return;
  const problems = new Problems();
  problems.invalid(
    Path.of("propagationPolicy"),
    propagationPolicy,
    "orphanDependents and deletionPropagation cannot be both set",
  );
  throw invalid({ group: `meta.${catalog.domain.api}`, kind: "DeleteOptions" }, "", problems);
}
