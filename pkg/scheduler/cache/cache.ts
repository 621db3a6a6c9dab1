import type { Node, Pod } from "#kinds";
import { type ImageState, NodeInfo, noImages } from "../framework/node-info.ts";
import type { PodInfo } from "../framework/pod-info.ts";
import { Snapshot } from "./snapshot.ts";

interface CachedPod {
  readonly info: PodInfo;
  readonly node: string;
  /** Assumed by this scheduler; the informer has not shown the binding yet. */
  readonly isAssumed: boolean;
}

/** Nodes and their pods: from informers, plus pods assumed by this scheduler. */
export class Cache {
  private readonly nodes = new Map<string, NodeInfo>();
  private readonly pods = new Map<string, CachedPod>();
  private readonly images = new Map<string, ImageState>();
  /** Names of nodes changed since the last snapshot. */
  private readonly changed = new Set<string>();

  constructor(private readonly zoneOf: (node: Node) => string) {}

  /** Number of cached objects, by metric label `type`. */
  sizes(): Readonly<Record<string, number>> {
    let assumed = 0;
    for (const { isAssumed } of this.pods.values()) if (isAssumed) assumed++;
    return { nodes: this.nodes.size, pods: this.pods.size, assumed_pods: assumed };
  }

  isAssumed({ metadata: { uid } }: Pod): boolean {
    return this.pods.get(uid)?.isAssumed === true;
  }

  setNode(node: Node): NodeInfo {
    const { name } = node.metadata;
    const info = this.nodes.get(name) ?? new NodeInfo(undefined);
    this.nodes.set(name, info);
    if (info.node !== undefined) this.dropImages(name, info);
    info.setNode(node);
    info.images = this.imagesOf(node);
    this.changed.add(name);
    return info;
  }

  /** Removes a node; its pods stay until their own deletion events. */
  removeNode(name: string): void {
    const info = this.nodes.get(name);
    if (info === undefined) return;
    this.dropImages(name, info);
    info.node = undefined;
    if (info.pods.length === 0) this.nodes.delete(name);
    this.changed.add(name);
  }

  /** Assumes a pod on a node before it is bound. */
  assume(info: PodInfo, node: string): void {
    this.put(info, node, true);
  }

  /** Reverts `assume`. */
  forget(pod: Pod): void {
    if (this.isAssumed(pod)) this.removePod(pod);
  }

  /** Adds or updates a bound pod from the informer. */
  setPod(info: PodInfo): void {
    this.put(info, info.pod.spec?.nodeName ?? "", false);
  }

  /** Removes a pod; returns whether it was cached. */
  removePod({ metadata: { uid } }: Pod): boolean {
    const known = this.pods.get(uid);
    if (known === undefined) return false;
    this.pods.delete(uid);
    this.takeOff(known);
    return true;
  }

  /** Updates the snapshot by copying the nodes changed since its last update. */
  updateSnapshot(snapshot: Snapshot): void {
    for (const name of this.changed) {
      const info = this.nodes.get(name);
      if (info?.node === undefined) snapshot.delete(name);
      else snapshot.set(name, info.copy(), this.zoneOf(info.node));
    }
    this.changed.clear();
    snapshot.refresh();
  }

  private put(info: PodInfo, name: string, isAssumed: boolean): void {
    const { uid } = info.pod.metadata;
    const known = this.pods.get(uid);
    if (known !== undefined) this.takeOff(known);
    this.pods.set(uid, { info, node: name, isAssumed });
    const node = this.nodes.get(name) ?? new NodeInfo(undefined);
    this.nodes.set(name, node);
    node.add(info);
    this.changed.add(name);
  }

  private takeOff({ info, node: name }: CachedPod): void {
    const node = this.nodes.get(name);
    if (node === undefined) return;
    node.remove(info.pod);
    if (node.node === undefined && node.pods.length === 0) this.nodes.delete(name);
    this.changed.add(name);
  }

  private imagesOf({ metadata, status }: Node): ReadonlyMap<string, ImageState> {
    const { images = [] } = status ?? {};
    if (images.length === 0) return noImages;
    const found = new Map<string, ImageState>();
    for (const { names = [], sizeBytes = 0 } of images) {
      for (const name of names) {
        const state = this.images.get(name) ?? { size: Number(sizeBytes), nodes: new Set() };
        state.nodes.add(metadata.name);
        this.images.set(name, state);
        found.set(name, state);
      }
    }
    return found;
  }

  private dropImages(node: string, { images }: NodeInfo): void {
    for (const [name, { nodes }] of images) {
      nodes.delete(node);
      if (nodes.size === 0) this.images.delete(name);
    }
  }
}
