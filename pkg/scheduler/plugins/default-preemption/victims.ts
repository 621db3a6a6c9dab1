import { labelsOf, namespaceOf, type Pod, type PodDisruptionBudget, priorityOf } from "#kinds";
import type { SchedulingContext } from "../../framework/contract.ts";
import type { Filters } from "../../framework/handle.ts";
import type { NodeInfo } from "../../framework/node-info.ts";
import { type PodInfo, type Selector, selectorOf } from "../../framework/pod-info.ts";
import { type Status, unresolvable } from "../../framework/status.ts";

/** A node and the pods to evict from it, most important first. */
export interface Candidate {
  readonly node: string;
  readonly victims: readonly Pod[];
  /** Number of victims whose eviction violates a PodDisruptionBudget. */
  readonly violations: number;
}

const noVictims = unresolvable("", "No preemption victims found for incoming pod");

/** A PodDisruptionBudget with its parsed selector. */
export interface Budget {
  readonly budget: PodDisruptionBudget;
  readonly selector: Selector;
}

export function budgetOf(budget: PodDisruptionBudget): Budget {
  return { budget, selector: selectorOf(budget.spec?.selector) };
}

/**
 * Selects victims on a node: removes all pods of lower priority, then reprieves them one by one while the pod
 * still fits, most important ones first and those protected by a budget before the others. Modifies `node`
 * and the state of the context.
 */
export function selectVictims(
  filters: Filters,
  context: SchedulingContext,
  node: NodeInfo,
  budgets: readonly Budget[],
): Candidate | Status {
  const priority = priorityOf(context.pod);
  const potential = node.pods.filter(({ pod }) => priorityOf(pod) < priority);
  if (potential.length === 0) return noVictims;
  const takeOff = (info: PodInfo) => {
    node.remove(info.pod);
    filters.removePod(context, info, node);
  };
  for (const info of potential) takeOff(info);
  const status = filters.filterWithNominated(context, node);
  if (status !== undefined) return status;
  potential.sort((a, b) => compareImportance(a.pod, b.pod));
  const { violating, others } = byBudgets(potential, budgets);
  const victims: PodInfo[] = [];
  const isReprieved = (info: PodInfo) => {
    node.add(info);
    filters.addPod(context, info, node);
    if (filters.filterWithNominated(context, node) === undefined) return true;
    takeOff(info);
    victims.push(info);
    return false;
  };
  const violations = violating.filter((info) => !isReprieved(info)).length;
  for (const info of others) isReprieved(info);
  const pods = victims.map(({ pod }) => pod).sort(compareImportance);
  return { node: node.name, victims: pods, violations };
}

/** Importance order: higher priority first, then earlier start. */
function compareImportance(a: Pod, b: Pod): number {
  return priorityOf(b) - priorityOf(a) || startOf(a) - startOf(b);
}

/** Start time of a pod in milliseconds; now if not started. */
function startOf({ status }: Pod): number {
  return status?.startTime === undefined ? Date.parse("9999-01-01") : Date.parse(status.startTime);
}

/** Partitions pods by whether evicting them in this order violates a budget. */
function byBudgets(
  infos: readonly PodInfo[],
  budgets: readonly Budget[],
): { readonly violating: readonly PodInfo[]; readonly others: readonly PodInfo[] } {
  const allowed = new Map(
    budgets.map((each) => [each, each.budget.status?.disruptionsAllowed ?? 0] as const),
  );
  const violating: PodInfo[] = [];
  const others: PodInfo[] = [];
  for (const info of infos) {
    let isViolated = false;
    for (const each of budgets) {
      if (!protects(each, info.pod)) continue;
      const left = allowed.get(each)! - 1;
      allowed.set(each, left);
      if (left < 0) isViolated = true;
    }
    (isViolated ? violating : others).push(info);
  }
  return { violating, others };
}

function protects({ budget, selector }: Budget, pod: Pod): boolean {
  if (Object.keys(labelsOf(pod)).length === 0 || selector.empty) return false;
  if (namespaceOf(budget) !== namespaceOf(pod) || !selector.matches(labelsOf(pod))) return false;
  // Its disruption is already counted in `disruptedPods`.
  return !Object.hasOwn(budget.status?.disruptedPods ?? {}, pod.metadata.name);
}

/**
 * Picks the candidate with the fewest budget violations; then the lowest maximum priority, the lowest sum of
 * priorities, the fewest victims, the latest start of the highest-priority victims.
 */
export function pickCandidate(candidates: readonly Candidate[]): Candidate | undefined {
  const criteria: readonly ((candidate: Candidate) => number)[] = [
    ({ violations }) => violations,
    ({ victims: [first] }) => (first === undefined ? 0 : priorityOf(first)),
    // Priorities are offset to be positive, so that more victims are never better.
    ({ victims }) => victims.reduce((sum, pod) => sum + priorityOf(pod) + 2 ** 31, 0),
    ({ victims }) => victims.length,
    ({ victims }) => -earliestStart(victims),
  ];
  let left = candidates;
  for (const criterion of criteria) {
    const values = left.map(criterion);
    const least = values.reduce((min, value) => Math.min(min, value), Infinity);
    left = left.filter((_candidate, at) => values[at] === least);
    if (left.length <= 1) break;
  }
  return left[0];
}

/** Earliest start of the victims with the highest priority. */
function earliestStart(victims: readonly Pod[]): number {
  const [first] = victims;
  if (first === undefined) return 0;
  return victims
    .filter((pod) => priorityOf(pod) === priorityOf(first))
    .reduce((min, pod) => Math.min(min, startOf(pod)), Infinity);
}
