import type { DaemonSet, Node, Pod } from "#kinds";
import { isAvailable, isReady } from "../../pods/pod-state.ts";
import { scaledValue } from "../../scaled-value.ts";
import { byAssignment, isUpdated, type NodeFit, templateGeneration } from "./daemon-pods.ts";

/** What is to change on the nodes of a DaemonSet. */
export interface NodePlan {
  /** Nodes that need a pod. */
  readonly nodes: string[];
  readonly deletions: Pod[];
}

/** A DaemonSet and the cluster as one sync sees them. */
export interface DaemonView {
  readonly set: DaemonSet;
  /** Hash of the current revision. */
  readonly hash: string;
  readonly nodes: readonly Node[];
  /** Pods by the node that they are on or made for. */
  readonly podsByNode: ReadonlyMap<string, readonly Pod[]>;
  readonly fit: (node: Node) => NodeFit;
  /** Time in milliseconds since 1970. */
  readonly now: number;
}

/** Whether a failed or succeeded pod may be deleted now; records why it is. */
type MayReplace = (pod: Pod, node: string) => boolean;

/** Pods that nodes lack, and those that they have too many of or should not have. */
export function planNodes(view: DaemonView, mayReplace: MayReplace): NodePlan {
  const plan: NodePlan = { nodes: [], deletions: [] };
  for (const node of view.nodes) planNode(view, { node, mayReplace, plan });
  const known = new Set(view.nodes.map(({ metadata }) => metadata.name));
  for (const [name, pods] of view.podsByNode) {
    if (known.has(name)) continue;
    plan.deletions.push(...pods.filter(({ spec }) => (spec?.nodeName ?? "") === ""));
  }
  return plan;
}

function planNode(
  view: DaemonView,
  { node, mayReplace, plan }: { node: Node; mayReplace: MayReplace; plan: NodePlan },
): void {
  const { name } = node.metadata;
  const { shouldRun, shouldContinue } = view.fit(node);
  const pods = view.podsByNode.get(name);
  if (pods === undefined) {
    if (shouldRun) plan.nodes.push(name);
    return;
  }
  const living = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  if (!shouldContinue) {
    plan.deletions.push(...living);
    return;
  }
  const running: Pod[] = [];
  for (const pod of living) {
    const { phase } = pod.status ?? {};
    if (phase !== "Failed" && phase !== "Succeeded") running.push(pod);
    else if (mayReplace(pod, name)) plan.deletions.push(pod);
  }
  running.sort(byAssignment);
  if (!allowsSurge(view.set)) plan.deletions.push(...running.slice(1));
  else if (running.length > 1) plan.deletions.push(...surplusOfSurge(view, running));
  else if (running.length === 0 && shouldRun) plan.nodes.push(name);
}

/** All but one old and one new pod; the old one, too, if it is not ready or the new one suffices. */
function surplusOfSurge({ set, hash, now }: DaemonView, running: readonly Pod[]): readonly Pod[] {
  const isNew = (pod: Pod) => isUpdated(pod, hash, undefined);
  const newest = running.find(isNew);
  const oldest = running.find((pod) => !isNew(pod));
  const surplus = running.filter((pod) => pod !== newest && pod !== oldest);
  if (newest === undefined || oldest === undefined) return surplus;
  const isReplaced = !isReady(oldest) || isAvailable(newest, set.spec.minReadySeconds, now);
  return isReplaced ? [...surplus, oldest] : surplus;
}

function allowsSurge(set: DaemonSet): boolean {
  return surgeOf(set, 1) > 0;
}

function surgeOf({ spec }: DaemonSet, desired: number): number {
  const { type, rollingUpdate } = spec.updateStrategy;
  return type === "RollingUpdate" ? scaledValue(rollingUpdate?.maxSurge ?? 0, desired) : 0;
}

function unavailableOf({ spec }: DaemonSet, desired: number): number {
  return scaledValue(spec.updateStrategy.rollingUpdate?.maxUnavailable ?? 0, desired);
}

/** The new and the old pod of a node; undefined = there are several of one. */
function pairOf({ set, hash }: DaemonView, pods: readonly Pod[]) {
  const living = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const generation = templateGeneration(set);
  const updated = living.filter((pod) => isUpdated(pod, hash, generation));
  const outdated = living.filter((pod) => !updated.includes(pod));
  if (updated.length > 1 || outdated.length > 1) return undefined;
  return { newPod: updated[0], oldPod: outdated[0] };
}

/** The next step of a rolling update. */
export function planUpdate(view: DaemonView): NodePlan {
  const desired = view.nodes.filter((node) => view.fit(node).shouldRun);
  const pods = new Map(view.podsByNode);
  for (const { metadata } of desired) {
    if (!pods.has(metadata.name)) pods.set(metadata.name, []);
  }
  const surge = surgeOf(view.set, desired.length);
  if (surge > 0) return planSurge(view, { pods, surge, desired: desired.length });
  const unavailable = Math.max(unavailableOf(view.set, desired.length), desired.length > 0 ? 1 : 0);
  return planReplacement(view, pods, unavailable);
}

/** Deletes old pods: those that are unavailable, and others as far as the limit allows. */
function planReplacement(
  view: DaemonView,
  podsByNode: ReadonlyMap<string, readonly Pod[]>,
  most: number,
): NodePlan {
  const available = (pod: Pod) => isAvailable(pod, view.set.spec.minReadySeconds, view.now);
  const broken: Pod[] = [];
  const candidates: Pod[] = [];
  let unavailable = 0;
  for (const pods of podsByNode.values()) {
    const pair = pairOf(view, pods);
    if (pair === undefined) unavailable++;
    else if (pair.newPod !== undefined && pair.oldPod === undefined) {
      if (!available(pair.newPod)) unavailable++;
    } else if (pair.oldPod === undefined || pair.newPod !== undefined) unavailable++;
    else if (available(pair.oldPod)) candidates.push(pair.oldPod);
    else {
      broken.push(pair.oldPod);
      unavailable++;
    }
  }
  const left = Math.max(0, most - unavailable);
  return { nodes: [], deletions: [...broken, ...candidates.slice(0, left)] };
}

/** Makes new pods beside the old ones, which go when the new ones are available. */
function planSurge(
  view: DaemonView,
  {
    pods,
    surge,
    desired,
  }: { pods: ReadonlyMap<string, readonly Pod[]>; surge: number; desired: number },
): NodePlan {
  const available = (pod: Pod) => isAvailable(pod, view.set.spec.minReadySeconds, view.now);
  const nodes = new Map(view.nodes.map((node) => [node.metadata.name, node]));
  const plan: NodePlan = { nodes: [], deletions: [] };
  const unwanted: Pod[] = [];
  const candidates: string[] = [];
  let [surging, availableCount] = [0, 0];
  for (const [name, onNode] of pods) {
    const pair = pairOf(view, onNode);
    if (pair === undefined) {
      surging++;
      continue;
    }
    const { newPod, oldPod } = pair;
    const serving = oldPod ?? newPod;
    if (serving !== undefined && available(serving)) availableCount++;
    if (oldPod === undefined) continue;
    if (newPod !== undefined) {
      if (available(newPod)) plan.deletions.push(oldPod);
      else surging++;
      continue;
    }
    const node = nodes.get(name);
    const isWanted = node !== undefined && view.fit(node).shouldRun;
    if (!isWanted) (available(oldPod) ? unwanted : plan.deletions).push(oldPod);
    else (available(oldPod) ? candidates : plan.nodes).push(name);
  }
  plan.deletions.push(...unwanted.slice(0, Math.max(0, availableCount - desired)));
  plan.nodes.push(...candidates.slice(0, Math.max(0, surge - surging)));
  return plan;
}
