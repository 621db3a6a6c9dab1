import type { ApiObject, Handle, OwnerReference } from "#client";
import { groupVersionOf } from "#meta";

/** An object of the ownership graph. */
export interface Node {
  readonly uid: string;
  readonly resource: Handle;
  readonly namespace: string;
  readonly name: string;
  readonly owners: readonly OwnerReference[];
  readonly finalizers: readonly string[];
  readonly deleting: boolean;
  /** Precondition of patches. */
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

/**
 * Whether an object is what a dependent's reference says: all of version, kind, name and UID, in the
 * dependent's namespace or cluster-scoped.
 */
export function isOwner(
  owner: Node | undefined,
  dependent: Node,
  { apiVersion, kind, name, uid }: OwnerReference,
): boolean {
  if (owner === undefined) return false;
  const { resource, namespace } = owner;
  return (
    owner.uid === uid &&
    owner.name === name &&
    resource.kind === kind &&
    groupVersionOf(resource.group, resource.version) === apiVersion &&
    (namespace === "" || namespace === dependent.namespace)
  );
}

/** An owner as kube-controller-manager's Events name it. */
export function ownerText(
  { apiVersion, kind, name, uid }: OwnerReference,
  namespace: string,
): string {
  return `[${apiVersion}/${kind}, namespace: ${namespace}, name: ${name}, uid: ${uid}]`;
}

/** Owner and dependent relations by UID. A dependent may be known before its owner, or without it. */
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

  /** Moves all objects of a resource to another served version of it. */
  move(from: Handle, to: Handle): void {
    for (const node of this.of(from)) this.set({ ...node, resource: to });
  }

  /** All objects of a resource. */
  of(resource: Handle): readonly Node[] {
    return [...this.nodes.values()].filter((node) => node.resource === resource);
  }
}
