import type { ApiObject, Handle, OwnerReference } from "#client";

/** What the garbage collector remembers of an object. */
export interface Node {
  readonly uid: string;
  readonly resource: Handle;
  readonly namespace: string;
  readonly name: string;
  readonly owners: readonly OwnerReference[];
  readonly finalizers: readonly string[];
  readonly deleting: boolean;
  /** The version that was seen; changes are made against it. */
  readonly resourceVersion: string;
}

const none: readonly never[] = [];

export function nodeOf(resource: Handle, { metadata }: ApiObject): Node {
  return {
    uid: metadata.uid,
    resource,
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    owners: metadata.ownerReferences ?? none,
    finalizers: metadata.finalizers ?? none,
    deleting: metadata.deletionTimestamp !== undefined,
    resourceVersion: metadata.resourceVersion,
  };
}

/** Which object owns which, by uid. Owners may be named before they are seen, or never be seen. */
export class OwnershipGraph {
  private readonly nodes = new Map<string, Node>();
  private readonly dependents = new Map<string, Set<string>>();

  get(uid: string): Node | undefined {
    return this.nodes.get(uid);
  }

  dependentsOf(uid: string): readonly Node[] {
    return [...(this.dependents.get(uid) ?? none)].flatMap((dependent) => {
      const node = this.nodes.get(dependent);
      return node === undefined ? [] : [node];
    });
  }

  set(node: Node): void {
    this.remove(node.uid);
    this.nodes.set(node.uid, node);
    for (const owner of node.owners) {
      const known = this.dependents.get(owner.uid);
      if (known === undefined) this.dependents.set(owner.uid, new Set([node.uid]));
      else known.add(node.uid);
    }
  }

  remove(uid: string): void {
    const node = this.nodes.get(uid);
    if (node === undefined) return;
    this.nodes.delete(uid);
    for (const owner of node.owners) {
      const known = this.dependents.get(owner.uid);
      known?.delete(uid);
      if (known?.size === 0) this.dependents.delete(owner.uid);
    }
  }

  /** Notes that the objects of a resource are reached in another version of it. */
  move(from: Handle, to: Handle): void {
    for (const node of this.of(from)) this.set({ ...node, resource: to });
  }

  /** Everything that is known of one resource. */
  of(resource: Handle): readonly Node[] {
    return [...this.nodes.values()].filter((node) => node.resource === resource);
  }
}
