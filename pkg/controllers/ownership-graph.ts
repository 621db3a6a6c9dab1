import type { Resource } from "#meta";
import type { Item } from "#registry";

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly blockOwnerDeletion?: boolean;
}

/** What the garbage collector remembers of an object. */
export interface Node {
  readonly uid: string;
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
  readonly owners: readonly OwnerReference[];
  readonly finalizers: readonly string[];
  readonly deleting: boolean;
  /** The version that was seen; changes are made against it. */
  readonly resourceVersion: string;
}

export function nodeOf({ object, resource, revision }: Item): Node {
  const { metadata } = object;
  return {
    uid: metadata.uid,
    resource,
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    owners: metadata.ownerReferences ?? [],
    finalizers: metadata.finalizers ?? [],
    deleting: Boolean(metadata.deletionTimestamp),
    resourceVersion: String(revision),
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
    return [...(this.dependents.get(uid) ?? [])].flatMap((dependent) => {
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

  /** Forgets all objects of one resource; answers what was known. */
  clear(resource: Resource): readonly Node[] {
    const known = [...this.nodes.values()].filter((node) => node.resource === resource);
    for (const node of known) this.remove(node.uid);
    return known;
  }
}
