import { deepClone } from "#base";
import { conflict, invalid, notFound, type Resource, type Status } from "#meta";
import { Path, Problems } from "#schema";
import type { Entry } from "#storage";
import { runHandlers } from "../admission/handler.ts";
import { deleteOptionsAsked } from "../admission/options.ts";
import type { DeleteAnswer, DeleteOptions, Target } from "../contract.ts";
import type { Environment } from "../context.ts";
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
  environment: Environment,
  target: Target,
  options: DeleteOptions,
): Promise<DeleteAnswer> {
  checkOptions(environment, options);
  const { dryRun } = options;
  const asked = { operation: "delete", dryRun, options: deleteOptionsAsked(options) } as const;
  const attributes = { ...asked, target, object: undefined };
  // Before all others look at it: they are not asked about what cannot be read.
  await namespaceLifecycle(environment, { ...attributes, old: undefined });
  const place = { key: keyOf(target), life: target.life };
  return untilAnswered(environment, place, async (entry) => {
    if (entry === undefined) throw notFound(target.resource, target.name);
    const current = new StoredItem(environment, target, entry);
    if (options.ignoreReadError === true && !canBeRead(current)) {
      return eraseUnreadable(environment, target, { entry, dryRun });
    }
    const warnings: string[] = [];
    const steps = [...environment.mutating, ...environment.validating];
    await runHandlers(steps, { ...attributes, old: current.object }, warnings);
    checkPreconditions(target, current, options);
    const outcome = await removeOnce(environment, target, { options, entry, current });
    return "answer" in outcome ? { answer: { ...outcome.answer, warnings } } : outcome;
  });
}

async function eraseUnreadable(
  environment: Environment,
  target: Target,
  { entry, dryRun }: { readonly entry: Entry; readonly dryRun: boolean },
): Promise<Outcome> {
  if (dryRun || (await removeUnreadable(environment, target, entry))) {
    return { answer: { status: deleted(target, undefined) } };
  }
  const { entry: current } = await environment.store.get(entry.key, target.life);
  return { current };
}

/** One attempt: what is to go, as it stands in the store. */
interface Removal {
  readonly options: DeleteOptions;
  readonly entry: Entry;
  readonly current: StoredItem;
}

type Outcome = Attempt<DeleteAnswer>;

interface Marked {
  readonly answer: { readonly item: StoredItem; readonly pending: true };
}

function removeOnce(environment: Environment, target: Target, removal: Removal): Promise<Outcome> {
  const { kind } = target.resource;
  const isFirst = !removal.current.object.metadata.deletionTimestamp;
  if (isNamespace(target.resource)) return removeNamespace(environment, target, removal);
  if (kind.hooks.markDeleting !== undefined && isFirst) {
    return markOnly(environment, target, removal);
  }
  return removeObject(environment, target, removal);
}

/** The kind has its own way of going: whoever carries it out takes the kind's finalizer away. */
function markOnly(environment: Environment, target: Target, removal: Removal): Promise<Outcome> {
  const object = deepClone(removal.current.object);
  const now = environment.timestamp();
  object.metadata.deletionTimestamp = now;
  const { api } = environment.catalog.domain;
  target.resource.kind.hooks.markDeleting?.(object, { api, now });
  return store(environment, target, { ...removal, object });
}

async function removeObject(
  environment: Environment,
  target: Target,
  removal: Removal,
): Promise<Outcome> {
  const { current, options } = removal;
  const { object } = current;
  const graceful = gracefully(target, object, { options, now: environment.clock.now() });
  if (graceful?.step === "pending") return { answer: { item: current, pending: true } };
  const finalizers = finalizersFor(target.resource, object.metadata.finalizers ?? [], options);
  if (graceful?.step === "marked") {
    const { finalizers: _before, ...metadata } = graceful.metadata;
    if (finalizers.length > 0) metadata.finalizers = finalizers;
    const marked = { ...object, metadata };
    const outcome = await store(environment, target, { ...removal, object: marked });
    if (finalizers.length > 0 || graceful.seconds > 0 || "current" in outcome) return outcome;
    return { answer: await eraseMarked(environment, target, { options, ...outcome }) };
  }
  if (finalizers.length === 0) return erase(environment, target, removal);
  const marked = { ...object, metadata: { ...object.metadata, finalizers } };
  markAsDeleting(marked.metadata, environment.clock.now());
  return store(environment, target, { ...removal, object: marked });
}

/**
 * The first deletion of a namespace marks it as terminating; the namespace controller then empties
 * it and finalizes its spec. Kubernetes sets no grace period here.
 */
async function removeNamespace(
  environment: Environment,
  target: Target,
  removal: Removal,
): Promise<Outcome> {
  const { object } = removal.current;
  const { metadata, status } = object;
  if (metadata.deletionTimestamp) {
    const emptied = (object.spec.finalizers ?? []).length === 0;
    if (emptied) return removeObject(environment, target, removal);
    return { answer: { item: removal.current, pending: true } };
  }
  const kept = finalizersFor(target.resource, metadata.finalizers ?? [], removal.options);
  const { finalizers: _finalizers, ...others } = metadata;
  const marked = {
    ...object,
    metadata: {
      ...others,
      deletionTimestamp: environment.timestamp(),
      ...(kept.length > 0 ? { finalizers: kept } : {}),
    },
    status: { ...status, phase: "Terminating" },
  };
  const outcome = await store(environment, target, { ...removal, object: marked });
  environment.namespaces.forget(target.name);
  return outcome;
}

/** Writes the marked object, unless it is as it was. */
async function store(
  environment: Environment,
  target: Target,
  { options, entry, object }: Removal & { readonly object: any },
): Promise<Marked | Outdated> {
  const value = encodeStored(environment, target.resource, object);
  const answerWith = (written: Entry): Marked => {
    const changed = { ...object, metadata: { ...object.metadata } };
    setResourceVersion(changed, written.modRevision);
    const item = new StoredItem(environment, target, written, { object: changed });
    return { answer: { item, pending: true } };
  };
  if (options.dryRun) return answerWith({ ...entry, value });
  if (Buffer.compare(value, entry.value) === 0) return answerWith(entry);
  const { signal } = target.life;
  const outcome = await environment.store.update(entry.key, entry.modRevision, value, { signal });
  return outcome.done ? answerWith(outcome.entry) : { current: outcome.current };
}

async function erase(
  environment: Environment,
  target: Target,
  { options, entry, current }: Removal,
): Promise<Outcome> {
  if (options.dryRun) return { answer: gone(target, current) };
  const { key, modRevision } = entry;
  const outcome = await environment.store.delete(key, modRevision, target.life);
  if (!outcome.done) return { current: outcome.current };
  if (isNamespace(target.resource)) environment.namespaces.forget(target.name);
  await releaseAll(environment, target, current.object);
  return { answer: gone(target, current.deletedAt(outcome.revision)) };
}

/**
 * The second half of a deletion that grants no time: the object is marked and goes, whatever
 * others do to it meanwhile, even if they remove it first.
 */
async function eraseMarked(
  environment: Environment,
  target: Target,
  { options, answer }: Marked & { readonly options: DeleteOptions },
): Promise<DeleteAnswer> {
  const { item } = answer;
  let { revision } = item;
  while (!options.dryRun) {
    const outcome = await environment.store.delete(item.key, revision, target.life);
    if (outcome.done) {
      await releaseAll(environment, target, item.object);
      return gone(target, item.deletedAt(outcome.revision));
    }
    if (outcome.current === undefined) break;
    revision = outcome.current.modRevision;
  }
  return gone(target, item);
}

/** The object or a Success Status, as the kind has it. */
function gone({ resource, name }: Target, item: StoredItem): DeleteAnswer {
  if (resource.kind.rules.deleteReturnsObject) return { item, pending: false };
  return { status: deleted({ resource, name }, item.object.metadata.uid) };
}

function deleted(
  { resource, name }: Pick<Target, "resource" | "name">,
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
  { resource, name }: Target,
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
function checkPreconditions(target: Target, current: StoredItem, options: DeleteOptions): void {
  const { resource, name } = target;
  const { preconditions } = options;
  if (!isNamespace(resource) && resource.kind.hooks.markDeleting === undefined) {
    return checkDeletePreconditions(target, current, options);
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
  { catalog }: Environment,
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
