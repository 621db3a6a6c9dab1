import type { Pod } from "#kinds";
import { type HostPort, isConflict, podRequests, type PodRequests } from "./pod-requests.ts";

/** What the nodes of the process have allocated to the pods that they admitted. */
export class NodeAllocations {
  private readonly nodes = new Map<string, NodeAllocation>();

  of(node: string): NodeAllocation {
    return this.nodes.get(node) ?? new NodeAllocation();
  }

  /** Allocates to a pod of a node what it requests, in place of what it had. */
  set(node: string, uid: string, pod: Pod): void {
    const allocation = this.of(node);
    allocation.set(uid, podRequests(pod));
    this.nodes.set(node, allocation);
  }

  /** Takes back what a pod has; without effect for one that has nothing. */
  delete(node: string, uid: string): void {
    const allocation = this.nodes.get(node);
    allocation?.delete(uid);
    if (allocation?.podCount === 0) this.nodes.delete(node);
  }
}

/** The pods of one node, and running sums of their requests. */
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

  /** Number of pods beside the one with this UID. */
  countBeside(uid: string): number {
    return this.pods.size - (this.pods.has(uid) ? 1 : 0);
  }

  /** Amount of a resource that the pods beside the one with this UID have. */
  usedBeside(uid: string, resource: string): bigint {
    const own = this.pods.get(uid)?.amounts.get(resource) ?? 0n;
    return (this.sums.get(resource) ?? 0n) - own;
  }

  /** Whether a pod beside the one with this UID has one of the ports. */
  hasConflictBeside(uid: string, ports: readonly HostPort[]): boolean {
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
