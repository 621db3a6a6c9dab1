import type { DaemonSet, Node, Pod } from "#kinds";
import { isAvailable, isReady } from "../../pods/pod-state.ts";
import { scaledValue } from "../../scaled-value.ts";
import {
  byAssignment,
  isUpdated,
  type NodeEligibility,
  templateGeneration,
} from "./daemon-pods.ts";

/** Pods to create and to delete in one sync of a DaemonSet. */
export interface NodePlan {
  /** Nodes that need a pod. */
  readonly nodes: string[];
  readonly deletions: Pod[];
}

/** Inputs of one sync: a DaemonSet, its pods and the nodes. */
export interface DaemonView {
  readonly set: DaemonSet;
  /** Hash of the current revision. */
  readonly hash: string;
  readonly nodes: readonly Node[];
  /** Pods by the node that they are bound to or were created for. */
  readonly podsByNode: ReadonlyMap<string, readonly Pod[]>;
  readonly eligibility: (node: Node) => NodeEligibility;
  /** Time in milliseconds since 1970. */
  readonly now: number;
}

/** Whether a failed or succeeded pod may be deleted now; records an Event if so. */
type MayDeleteTerminated = (pod: Pod, node: string) => boolean;

/** Plans missing pods on eligible nodes, and deletions of surplus and misscheduled ones. */
export function planNodes(view: DaemonView, mayDeleteTerminated: MayDeleteTerminated): NodePlan {
  const plan: NodePlan = { nodes: [], deletions: [] };
  for (const node of view.nodes) planNode(view, { node, mayDeleteTerminated, plan });
  const known = new Set(view.nodes.map(({ metadata }) => metadata.name));
  for (const [name, pods] of view.podsByNode) {
    if (known.has(name)) continue;
    plan.deletions.push(...pods.filter(({ spec }) => (spec?.nodeName ?? "") === ""));
  }
  return plan;
}

function planNode(
  view: DaemonView,
  {
    node,
    mayDeleteTerminated,
    plan,
  }: { node: Node; mayDeleteTerminated: MayDeleteTerminated; plan: NodePlan },
): void {
  const { name } = node.metadata;
  const { shouldRun, shouldContinue } = view.eligibility(node);
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
    else if (mayDeleteTerminated(pod, name)) plan.deletions.push(pod);
  }
  running.sort(byAssignment);
  if (!allowsSurge(view.set)) plan.deletions.push(...running.slice(1));
  else if (running.length > 1) plan.deletions.push(...surplusPods(view, running));
  else if (running.length === 0 && shouldRun) plan.nodes.push(name);
}

/** All but one old and one new pod; also the old one if it is not ready or the new one is available. */
function surplusPods({ set, hash, now }: DaemonView, running: readonly Pod[]): readonly Pod[] {
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

/** The new and the old pod of a node; undefined = several pods of one revision. */
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
  const desired = view.nodes.filter((node) => view.eligibility(node).shouldRun);
  const pods = new Map(view.podsByNode);
  for (const { metadata } of desired) {
    if (!pods.has(metadata.name)) pods.set(metadata.name, []);
  }
  const surge = surgeOf(view.set, desired.length);
  if (surge > 0) return planSurge(view, { pods, surge, desired: desired.length });
  const unavailable = Math.max(unavailableOf(view.set, desired.length), desired.length > 0 ? 1 : 0);
  return planRollingUpdate(view, pods, unavailable);
}

/** Deletes unavailable old pods, and available ones within `maxUnavailable`. */
function planRollingUpdate(
  view: DaemonView,
  podsByNode: ReadonlyMap<string, readonly Pod[]>,
  maxUnavailable: number,
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
  const left = Math.max(0, maxUnavailable - unavailable);
  return { nodes: [], deletions: [...broken, ...candidates.slice(0, left)] };
}

/** Creates new pods within `maxSurge`; deletes an old pod once its replacement is available. */
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
    const isWanted = node !== undefined && view.eligibility(node).shouldRun;
    if (!isWanted) (available(oldPod) ? unwanted : plan.deletions).push(oldPod);
    else (available(oldPod) ? candidates : plan.nodes).push(name);
  }
  plan.deletions.push(...unwanted.slice(0, Math.max(0, availableCount - desired)));
  plan.nodes.push(...candidates.slice(0, Math.max(0, surge - surging)));
  return plan;
}
