import {
  CoreEventRecorder,
  type Handle,
  type OwnerReference,
  RequeueAfter,
  type WorkQueue,
} from "#client";
import { deepEqual, setBounded } from "#base";
import { goQuote, isConflict, isNotFound, type StatusError } from "#meta";
import { ResourceMonitors } from "./resource-monitors.ts";
import { type ControllerContext, newWorkQueue } from "../controller-context.ts";
import { isOwner, type Node, nodeOf, ownerText, OwnershipGraph } from "./ownership-graph.ts";

const foregroundFinalizer = "foregroundDeletion";
const orphanFinalizer = "orphan";
/** Size limit of the cache of deleted UIDs. */
const maxDeletedUids = 10_000;
/** Retry delay while monitors have not synced. */
const unsyncedRetryMs = 200;

/**
 * Deletes objects whose owners are all absent, and processes the deletion finalizers: `orphan`
 * (removes the owner's reference from its dependents) and `foregroundDeletion` (deletes dependents
 * first). Every decision is based on live reads; the graph, built from watches, only selects candidates.
 */
export async function runGarbageCollector(
  context: ControllerContext,
  { garbageCollectorWorkers }: GarbageCollectorOptions,
): Promise<void> {
  await new GarbageCollector(context).run(garbageCollectorWorkers);
}

export interface GarbageCollectorOptions {
  /** Number of objects processed concurrently. */
  readonly garbageCollectorWorkers: number;
}

class GarbageCollector {
  private readonly graph = new OwnershipGraph();
  /** Deleted objects by UID: owners that are absent without a GET, e.g. of a kind no longer served. */
  private readonly deleted = new Map<string, Node>();
  /** UIDs of objects with an owner whose kind is not served; requeued after each discovery. */
  private readonly unresolved = new Set<string>();
  private readonly queue: WorkQueue;
  private readonly monitors: ResourceMonitors;
  private readonly recorder: CoreEventRecorder;

  constructor(private readonly context: ControllerContext) {
    this.recorder = new CoreEventRecorder(context, "garbage-collector-controller");
    this.queue = newWorkQueue(context, "garbage_collector_attempt_to_delete");
    this.monitors = new ResourceMonitors(context, {
      sinkOf: (resource) => ({
        replaced: (objects) => {
          const nodes = objects.map((object) => nodeOf(resource, object));
          const present = new Set(nodes.map(({ uid }) => uid));
          for (const node of this.graph.of(resource)) if (!present.has(node.uid)) this.gone(node);
          for (const node of nodes) this.changed(node);
        },
        changed: (type, object) => {
          const node = nodeOf(resource, object);
          if (type === "DELETED") {
            setBounded(this.deleted, [node.uid, node], maxDeletedUids);
            this.gone(node);
          } else this.changed(node);
        },
      }),
      moved: (from, to) => this.graph.move(from, to),
      discovered: () => {
        for (const uid of this.unresolved) this.queue.add(uid);
        this.unresolved.clear();
      },
      gone: (resource) => this.graph.of(resource).forEach((node) => this.gone(node)),
    });
  }

  async run(workers: number): Promise<void> {
    await Promise.all([
      this.monitors.run(),
      this.recorder.run(),
      this.queue.run((uid) => this.process(uid), { workers }),
    ]);
  }

  private changed(node: Node): void {
    const before = this.graph.get(node.uid);
    this.graph.set(node);
    const added = node.owners.filter(
      ({ uid }) => !before?.owners.some((reference) => reference.uid === uid),
    );
    for (const reference of added) this.reportOwnerOfOtherNamespace(node, reference);
    const isSuspect =
      added.some((reference) => !isOwner(this.graph.get(reference.uid), node, reference)) ||
      node.owners.some(({ uid }) => this.graph.get(uid) === undefined);
    if (isSuspect || hasDeletionFinalizer(node)) this.queue.add(node.uid);
    if (before === undefined) this.checkDependents(node);
    this.requeueOwners(node, before);
  }

  /** Requeues dependents that were known before their owner and name it wrongly. */
  private checkDependents(node: Node): void {
    for (const dependent of this.graph.dependentsOf(node.uid)) {
      const wrong = dependent.owners.filter(
        (reference) => reference.uid === node.uid && !isOwner(node, dependent, reference),
      );
      if (wrong.length === 0) continue;
      this.queue.add(dependent.uid);
      this.reportOwnerOfOtherNamespace(dependent, wrong[0]!);
    }
  }

  /** Records an Event if the UID of a reference is that of an object in another namespace. */
  private reportOwnerOfOtherNamespace(node: Node, reference: OwnerReference): void {
    const { namespace, name, uid, resource } = node;
    const owner = this.graph.get(reference.uid);
    if (owner === undefined || owner.namespace === "" || owner.namespace === namespace) return;
    const object = { metadata: { name, namespace, uid, resourceVersion: "" } };
    const text = `ownerRef ${ownerText(reference, namespace)} does not exist in namespace`;
    this.recorder.record(resource, object, {
      type: "Warning",
      reason: "OwnerRefInvalidNamespace",
      message: `${text} ${goQuote(namespace)}`,
    });
  }

  private gone(node: Node): void {
    const before = this.graph.get(node.uid);
    this.graph.remove(node.uid);
    for (const dependent of this.graph.dependentsOf(node.uid)) this.queue.add(dependent.uid);
    this.requeueOwners(node, before);
  }

  /** Requeues owners in deletion: a foreground deletion ends with the last blocking dependent. */
  private requeueOwners(node: Node, before: Node | undefined): void {
    for (const owner of [...node.owners, ...(before?.owners ?? [])]) {
      if (this.graph.get(owner.uid)?.deleting) this.queue.add(owner.uid);
    }
  }

  private async process(uid: string): Promise<void> {
    const known = this.graph.get(uid);
    if (known === undefined) return;
    const node = await this.read(known.resource, known);
    if (node === undefined || node.uid !== uid) return;
    if (node.deleting) {
      if (!hasDeletionFinalizer(node)) return;
      // The graph may lack dependents that no monitor has listed yet.
      if (!this.monitors.isSynced)
        throw new RequeueAfter("not all monitors have synced", unsyncedRetryMs);
      if (node.finalizers.includes(orphanFinalizer)) await this.orphanDependents(node);
      else await this.deleteDependents(node);
    } else if (node.owners.length > 0) {
      await this.processOwnerReferences(node);
    }
  }

  private async processOwnerReferences(node: Node): Promise<void> {
    const states = await Promise.all(node.owners.map((owner) => this.ownerState(node, owner)));
    // A cluster-scoped object cannot have a namespaced owner: with such a reference it is never collected.
    if (states.includes("invalid")) return;
    // An owner whose kind is not served may still exist.
    if (states.includes("unknown")) {
      this.unresolved.add(node.uid);
      throw new RequeueAfter("the kind of an owner is not served");
    }
    const solid = node.owners.filter((_owner, index) => states[index] === "solid");
    if (solid.length === node.owners.length) return;
    if (solid.length > 0) {
      await this.patch(node, { ownerReferences: solid });
      return;
    }
    const dependents = this.graph.dependentsOf(node.uid);
    const isAwaited = states.includes("waiting") && dependents.length > 0;
    // Breaks cycles: a dependent in foreground deletion may itself be blocked by this object.
    const isCycle = isAwaited && dependents.some(isForegroundDeletion);
    const current = isCycle ? await this.unblockOwners(node) : node;
    if (current === undefined) return;
    await this.delete(current, isAwaited ? "Foreground" : propagationPolicyOf(current));
  }

  private async ownerState(
    node: Node,
    owner: OwnerReference,
  ): Promise<"solid" | "waiting" | "gone" | "unknown" | "invalid"> {
    if (isOwner(this.deleted.get(owner.uid), node, owner)) return "gone";
    const resource = this.monitors.resourceOf(owner.apiVersion, owner.kind);
    if (resource === undefined) return "unknown";
    if (resource.namespaced && node.namespace === "") return "invalid";
    const namespace = resource.namespaced ? node.namespace : "";
    const found = await this.read(resource, { namespace, name: owner.name });
    if (found === undefined || found.uid !== owner.uid) return "gone";
    return found.deleting && found.finalizers.includes(foregroundFinalizer) ? "waiting" : "solid";
  }

  private unblockOwners(node: Node): Promise<Node | undefined> {
    const ownerReferences = node.owners.map((owner) => ({ ...owner, blockOwnerDeletion: false }));
    return this.patch(node, { ownerReferences });
  }

  private async deleteDependents(node: Node): Promise<void> {
    const dependents = this.graph.dependentsOf(node.uid);
    const blocking = dependents.filter((dependent) => blocks(dependent, node.uid));
    if (blocking.length === 0) {
      await this.removeFinalizer(node, foregroundFinalizer);
      return;
    }
    for (const dependent of dependents) if (!dependent.deleting) this.queue.add(dependent.uid);
  }

  private async orphanDependents(node: Node): Promise<void> {
    for (const dependent of this.graph.dependentsOf(node.uid)) {
      const current = await this.read(dependent.resource, dependent);
      if (current === undefined || current.uid !== dependent.uid) continue;
      const ownerReferences = current.owners.filter((owner) => owner.uid !== node.uid);
      if (ownerReferences.length < current.owners.length) {
        await this.patch(current, { ownerReferences });
      }
    }
    await this.removeFinalizer(node, orphanFinalizer);
  }

  private async removeFinalizer(node: Node, finalizer: string): Promise<void> {
    await this.patch(node, { finalizers: node.finalizers.filter((name) => name !== finalizer) });
  }

  private async read(
    resource: Handle,
    { namespace, name }: Pick<Node, "namespace" | "name">,
  ): Promise<Node | undefined> {
    const object = await this.context.client
      .get(resource, { namespace, name }, { metadataOnly: true })
      .catch(ignoreAbsent(name));
    return object && nodeOf(resource, object);
  }

  /** Changes the metadata of an object as it was read; undefined = it does not exist. */
  private async patch(node: Node, metadata: object): Promise<Node | undefined> {
    const { uid, resourceVersion, namespace, name, resource } = node;
    const body = { metadata: { uid, resourceVersion, ...metadata } };
    const object = await this.context.client
      .patch(resource, { namespace, name }, { type: "merge", body })
      .catch(ignoreAbsent(name));
    return object && nodeOf(resource, object);
  }

  /**
   * Deletes an object, unless its owner references have changed since it was read: it may have a new owner,
   * so that the conflict requeues it. Other changes do not matter.
   */
  private async delete(node: Node, propagationPolicy: PropagationPolicy): Promise<void> {
    const { uid, resourceVersion, namespace, name, resource } = node;
    const { client } = this.context;
    const deleteIf = (preconditions: { readonly uid: string; readonly resourceVersion?: string }) =>
      client
        .delete(resource, { namespace, name }, { propagationPolicy, preconditions })
        .catch(ignoreAbsent(name));
    try {
      await deleteIf({ uid, resourceVersion });
    } catch (error) {
      if (!isConflict(error)) throw error;
      const current = await this.read(resource, node);
      if (current === undefined) return;
      if (current.uid !== uid || !deepEqual(current.owners, node.owners)) throw error;
      await deleteIf({ uid });
    }
  }
}

/**
 * Ignores a 404 that names the object. A 404 without the name means that the resource is no longer
 * served in this version; the object may exist in another one.
 */
function ignoreAbsent(name: string): (error: unknown) => undefined {
  return (error) => {
    const isAbsent = isNotFound(error) && (error as StatusError).status.details?.name === name;
    if (!isAbsent) throw error;
  };
}

function hasDeletionFinalizer(node: Node): boolean {
  return (
    node.deleting &&
    node.finalizers.some((name) => name === orphanFinalizer || name === foregroundFinalizer)
  );
}

type PropagationPolicy = "Orphan" | "Foreground" | "Background";

/** Policy by the deletion finalizers that an object has before its deletion; by default Background. */
function propagationPolicyOf({ finalizers }: Node): PropagationPolicy {
  if (finalizers.includes(orphanFinalizer)) return "Orphan";
  return finalizers.includes(foregroundFinalizer) ? "Foreground" : "Background";
}

/** Whether an object is in foreground deletion. */
function isForegroundDeletion({ deleting, finalizers }: Node): boolean {
  return deleting && finalizers.includes(foregroundFinalizer);
}

function blocks(dependent: Node, owner: string): boolean {
  return dependent.owners.some((ref) => ref.uid === owner && ref.blockOwnerDeletion === true);
}
