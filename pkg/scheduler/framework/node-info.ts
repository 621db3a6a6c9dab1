import { labelsOf, type Node, type Pod } from "#kinds";
import { hasAffinityTerms, type HostPort, type PodInfo } from "./pod-info.ts";
import { addResources, countOf, noResources, type Resources, resourcesOf } from "./resources.ts";

/** An image and the nodes that have it, shared by all NodeInfos. */
export interface ImageState {
  readonly size: number;
  readonly nodes: Set<string>;
}

const noLabels: Readonly<Record<string, string>> = {};
export const noImages: ReadonlyMap<string, ImageState> = new Map();
const noClaims: ReadonlyMap<string, number> = new Map();
const wildcard = "0.0.0.0";

/** A node with its pods and aggregates over them. */
export class NodeInfo {
  /** "" (and no labels) while the Node object is unknown. */
  name = "";
  labels: Readonly<Record<string, string>> = noLabels;
  allocatable = noResources();
  allowedPods = 0;
  images = noImages;
  readonly requested: Resources;
  nonZeroMilliCpu = 0;
  nonZeroMemory = 0;
  pods: PodInfo[] = [];
  podsWithAffinity: PodInfo[] = [];
  podsWithRequiredAntiAffinity: PodInfo[] = [];
  /** Number of pods by `protocol/port`, then by host IP. */
  private usedPorts: Map<string, Map<string, number>> | undefined;
  /** Number of pods that use a claim, by `namespace/name`. */
  claims = noClaims;

  /** `node` is undefined if only pods of the node are known. */
  constructor(
    public node: Node | undefined,
    requested = noResources(),
  ) {
    this.requested = requested;
    if (node !== undefined) this.setNode(node);
  }

  setNode(node: Node): void {
    this.node = node;
    this.name = node.metadata.name;
    this.labels = labelsOf(node);
    const { allocatable = {} } = node.status ?? {};
    this.allocatable = resourcesOf(allocatable);
    this.allowedPods = countOf(allocatable, "pods");
  }

  add(info: PodInfo): void {
    this.pods.push(info);
    if (hasAffinityTerms(info)) this.podsWithAffinity.push(info);
    if (info.terms.requiredAntiAffinity.length > 0) this.podsWithRequiredAntiAffinity.push(info);
    this.count(info, 1);
  }

  /** Removes a pod; returns whether it was present. */
  remove(pod: Pod): boolean {
    const { uid } = pod.metadata;
    const at = this.pods.findIndex((each) => each.pod.metadata.uid === uid);
    const info = this.pods[at];
    if (info === undefined) return false;
    this.pods.splice(at, 1);
    if (hasAffinityTerms(info)) without(this.podsWithAffinity, info);
    if (info.terms.requiredAntiAffinity.length > 0) {
      without(this.podsWithRequiredAntiAffinity, info);
    }
    this.count(info, -1);
    return true;
  }

  copy(): NodeInfo {
    const made = new NodeInfo(undefined, { ...this.requested });
    made.node = this.node;
    made.name = this.name;
    made.labels = this.labels;
    made.allocatable = this.allocatable;
    made.allowedPods = this.allowedPods;
    made.images = this.images;
    made.nonZeroMilliCpu = this.nonZeroMilliCpu;
    made.nonZeroMemory = this.nonZeroMemory;
    made.pods = this.pods.slice();
    made.podsWithAffinity = this.podsWithAffinity.slice();
    made.podsWithRequiredAntiAffinity = this.podsWithRequiredAntiAffinity.slice();
    if (this.usedPorts !== undefined) {
      made.usedPorts = new Map([...this.usedPorts].map(([key, ips]) => [key, new Map(ips)]));
    }
    made.claims = this.claims;
    return made;
  }

  /** Whether a pod of the node uses the port on an overlapping address. */
  hasPortConflict({ ip, protocol, port }: HostPort): boolean {
    const ips = this.usedPorts?.get(`${protocol}/${port}`);
    if (ips === undefined || ips.size === 0) return false;
    return ip === wildcard || ips.has(wildcard) || ips.has(ip);
  }

  private count(info: PodInfo, sign: 1 | -1): void {
    addResources(this.requested, info.requests, sign);
    this.nonZeroMilliCpu += sign * info.nonZeroMilliCpu;
    this.nonZeroMemory += sign * info.nonZeroMemory;
    for (const { ip, protocol, port } of info.hostPorts) {
      this.usedPorts ??= new Map();
      const key = `${protocol}/${port}`;
      const ips = this.usedPorts.get(key) ?? new Map<string, number>();
      this.usedPorts.set(key, ips);
      addCount(ips, ip, sign);
    }
    if (info.claims.length === 0) return;
    const claims = new Map(this.claims);
    for (const claim of info.claims) addCount(claims, claim, sign);
    this.claims = claims;
  }
}

function addCount(counts: Map<string, number>, key: string, sign: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + sign;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
}

function without(infos: PodInfo[], info: PodInfo): void {
  const at = infos.indexOf(info);
  if (at >= 0) infos.splice(at, 1);
}
