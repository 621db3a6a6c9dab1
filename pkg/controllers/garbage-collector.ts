import type { Item } from "#registry";
import {
  collectableResources,
  type ControllerOptions,
  isNotFound,
  observe,
  plainDelete,
  targetOf,
} from "./access.ts";
import { type Node, nodeOf, type OwnerReference, OwnershipGraph } from "./ownership-graph.ts";
import { WorkQueue } from "./work-queue.ts";

const foreground = "foregroundDeletion";
const orphan = "orphan";

/**
 * Deletes objects whose owners are all gone, and carries out the propagation finalizers: `orphan`
 * (dependents lose their reference first) and `foregroundDeletion` (dependents go first). Decisions
 * rest on fresh reads; the graph, fed by watches, only says where to look.
 */
export async function runGarbageCollector(options: ControllerOptions): Promise<void> {
  const collector = new GarbageCollector(options);
  await collector.run();
}

class GarbageCollector {
  private readonly graph = new OwnershipGraph();
  private readonly queue: WorkQueue;
  private unsynced = new Set<string>();

  constructor(private readonly options: ControllerOptions) {
    this.queue = new WorkQueue({ ...options, work: (uid) => this.process(uid) });
  }

  async run(): Promise<void> {
    const resources = collectableResources(this.options.catalog);
    this.unsynced = new Set(resources.map((resource) => resource.keyPrefix));
    const observers = resources.map((resource) => {
      let forgotten: readonly Node[] = [];
      return observe(this.options, resource, {
        restarted: () => (forgotten = this.graph.clear(resource)),
        synced: () => {
          this.unsynced.delete(resource.keyPrefix);
          for (const node of forgotten) if (!this.graph.get(node.uid)) this.ownerGone(node.uid);
        },
        changed: (item, type) => this.changed(item, type),
      });
    });
    await Promise.all([this.queue.run(), ...observers]);
  }

  private changed(item: Item, type: string): void {
    const node = nodeOf(item);
    const before = this.graph.get(node.uid);
    if (type === "DELETED") {
      this.graph.remove(node.uid);
      this.ownerGone(node.uid);
    } else {
      this.graph.set(node);
      const orphaned = node.owners.some((owner) => this.graph.get(owner.uid) === undefined);
      if (orphaned || hasPropagation(node)) this.queue.add(node.uid);
    }
    // A foreground deletion waits for its dependents.
    for (const owner of [...node.owners, ...(before?.owners ?? [])]) {
      if (this.graph.get(owner.uid)?.deleting) this.queue.add(owner.uid);
    }
  }

  private ownerGone(uid: string): void {
    for (const dependent of this.graph.dependentsOf(uid)) this.queue.add(dependent.uid);
  }

  private async process(uid: string): Promise<void> {
    const known = this.graph.get(uid);
    if (known === undefined) return;
    if (this.unsynced.size > 0) throw new Error("not all resources are known yet");
    const node = await this.read(known);
    if (node === undefined || node.uid !== uid) return;
    if (node.deleting) {
      if (node.finalizers.includes(orphan)) await this.orphanDependents(node);
      else if (node.finalizers.includes(foreground)) await this.deleteDependents(node);
    } else if (node.owners.length > 0) {
      await this.checkOwners(node);
    }
  }

  private async checkOwners(node: Node): Promise<void> {
    const states = await Promise.all(node.owners.map((owner) => this.ownerState(node, owner)));
    const solid = node.owners.filter((_owner, index) => states[index] === "solid");
    if (solid.length === node.owners.length) return;
    if (solid.length > 0) {
      await this.patch(node, { ownerReferences: solid });
      return;
    }
    const waited = states.includes("waiting") && this.graph.dependentsOf(node.uid).length > 0;
    await this.delete(node, waited ? "Foreground" : "Background");
  }

  private async ownerState(
    node: Node,
    owner: OwnerReference,
  ): Promise<"solid" | "waiting" | "gone"> {
    const resource = this.options.catalog.findKind(owner.apiVersion, owner.kind);
    // An owner of a kind that is not served cannot be looked up: leave its dependents alone.
    if (resource === undefined) return "solid";
    const namespace = resource.kind.scope === "Namespaced" ? node.namespace : "";
    const found = await this.read({ resource, namespace, name: owner.name });
    if (found === undefined || found.uid !== owner.uid) return "gone";
    return found.deleting && found.finalizers.includes(foreground) ? "waiting" : "solid";
  }

  private async deleteDependents(node: Node): Promise<void> {
    const dependents = this.graph.dependentsOf(node.uid);
    const blocking = dependents.filter((dependent) => blocks(dependent, node.uid));
    if (blocking.length === 0) {
      await this.removeFinalizer(node, foreground);
      return;
    }
    for (const dependent of dependents) if (!dependent.deleting) this.queue.add(dependent.uid);
  }

  private async orphanDependents(node: Node): Promise<void> {
    for (const dependent of this.graph.dependentsOf(node.uid)) {
      const current = await this.read(dependent);
      if (current === undefined || current.uid !== dependent.uid) continue;
      const ownerReferences = current.owners.filter((owner) => owner.uid !== node.uid);
      if (ownerReferences.length < current.owners.length) {
        await this.patch(current, { ownerReferences });
      }
    }
    await this.removeFinalizer(node, orphan);
  }

  private removeFinalizer(node: Node, finalizer: string): Promise<void> {
    return this.patch(node, { finalizers: node.finalizers.filter((name) => name !== finalizer) });
  }

  private async read(at: Pick<Node, "resource" | "namespace" | "name">): Promise<Node | undefined> {
    const target = targetOf(at.resource, at, this.options.signal);
    try {
      return nodeOf(await this.options.registry.get(target, { resourceVersion: "" }));
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  private async patch(node: Node, metadata: object): Promise<void> {
    const { uid, resourceVersion } = node;
    const body = JSON.stringify({ metadata: { uid, resourceVersion, ...metadata } });
    const target = targetOf(node.resource, node, this.options.signal);
    const written = this.options.registry.patch(
      target,
      { bytes: Buffer.from(body), format: "json" },
      {
        patchType: "merge",
        force: undefined,
        dryRun: false,
        fieldManager: "",
        fieldValidation: "Ignore",
      },
    );
    await written.catch(ignoreNotFound);
  }

  private async delete(node: Node, propagationPolicy: "Foreground" | "Background") {
    const target = targetOf(node.resource, node, this.options.signal);
    const options = { ...plainDelete, propagationPolicy, preconditions: { uid: node.uid } };
    await this.options.registry.delete(target, options).catch(ignoreNotFound);
  }
}

function ignoreNotFound(error: unknown): void {
  if (!isNotFound(error)) throw error;
}

function hasPropagation(node: Node): boolean {
  return node.deleting && node.finalizers.some((name) => name === orphan || name === foreground);
}

function blocks(dependent: Node, owner: string): boolean {
  return dependent.owners.some((ref) => ref.uid === owner && ref.blockOwnerDeletion === true);
}
