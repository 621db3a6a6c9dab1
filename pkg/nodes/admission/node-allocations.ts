import type { Pod } from "#kinds";
import { type HostPort, isConflict, podRequests, type PodRequests } from "./pod-requests.ts";

/** Allocated resources of the admitted pods of all nodes. */
export class NodeAllocations {
  private readonly nodes = new Map<string, NodeAllocation>();

  of(node: string): NodeAllocation {
    return this.nodes.get(node) ?? new NodeAllocation();
  }

  /** Sets the allocation of a pod to its requests. */
  set(node: string, uid: string, pod: Pod): void {
    const allocation = this.of(node);
    allocation.set(uid, podRequests(pod));
    this.nodes.set(node, allocation);
  }

  /** Releases the allocation of a pod, if any. */
  delete(node: string, uid: string): void {
    const allocation = this.nodes.get(node);
    allocation?.delete(uid);
    if (allocation?.podCount === 0) this.nodes.delete(node);
  }
}

/** Pods of one node, with the sums of their requests. */
export class NodeAllocation {
  private readonly pods = new Map<string, PodRequests>();
  private readonly sums = new Map<string, bigint>();
  /** Pods with host ports. */
  private readonly withPorts = new Map<string, readonly HostPort[]>();

  get podCount(): number {
    return this.pods.size;
  }

  set(uid: string, requests: PodRequests): void {
    this.delete(uid);
    this.pods.set(uid, requests);
    this.add(requests, 1n);
    if (requests.hostPorts.length > 0) this.withPorts.set(uid, requests.hostPorts);
  }

  delete(uid: string): void {
    const requests = this.pods.get(uid);
    if (requests === undefined) return;
    this.pods.delete(uid);
    this.withPorts.delete(uid);
    this.add(requests, -1n);
  }

  /** Number of pods, excluding this UID. */
  countExcluding(uid: string): number {
    return this.pods.size - (this.pods.has(uid) ? 1 : 0);
  }

  /** Allocated amount of a resource, excluding this UID. */
  usedExcluding(uid: string, resource: string): bigint {
    const own = this.pods.get(uid)?.amounts.get(resource) ?? 0n;
    return (this.sums.get(resource) ?? 0n) - own;
  }

  /** Whether any of the host ports is in use, excluding this UID. */
  hasConflictExcluding(uid: string, ports: readonly HostPort[]): boolean {
    if (ports.length === 0) return false;
    return [...this.withPorts].some(
      ([other, used]) =>
        other !== uid && used.some((each) => ports.some((port) => isConflict(each, port))),
    );
  }

  private add({ amounts }: PodRequests, sign: bigint): void {
    for (const [resource, amount] of amounts) {
      this.sums.set(resource, (this.sums.get(resource) ?? 0n) + sign * amount);
    }
  }
}
