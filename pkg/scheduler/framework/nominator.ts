import type { Pod } from "#kinds";
import type { PodInfo } from "./pod-info.ts";

const none: readonly PodInfo[] = [];

/** Nominated pods by node: pending pods that wait there for their preemption victims to terminate. */
export class Nominator {
  private readonly byNode = new Map<string, PodInfo[]>();
  private readonly nodes = new Map<string, string>();

  podsOn(node: string): readonly PodInfo[] {
    if (this.byNode.size === 0) return none;
    return this.byNode.get(node) ?? none;
  }

  /** Nominates a pod to a node; "" removes the nomination. */
  set(info: PodInfo, node: string): void {
    this.delete(info.pod);
    if (node === "") return;
    this.nodes.set(info.pod.metadata.uid, node);
    const infos = this.byNode.get(node) ?? [];
    infos.push(info);
    this.byNode.set(node, infos);
  }

  /**
   * Updates a pod. Keeps a nomination that is not in the status yet, since the update may predate it.
   */
  update(before: Pod, info: PodInfo): void {
    const told = info.pod.status?.nominatedNodeName ?? "";
    const isKept = told === "" && (before.status?.nominatedNodeName ?? "") === "";
    this.set(info, isKept ? (this.nodes.get(before.metadata.uid) ?? "") : told);
  }

  delete({ metadata: { uid } }: Pod): void {
    const node = this.nodes.get(uid);
    if (node === undefined) return;
    this.nodes.delete(uid);
    const left = this.podsOn(node).filter((each) => each.pod.metadata.uid !== uid);
    if (left.length > 0) this.byNode.set(node, left);
    else this.byNode.delete(node);
  }
}
