import { type Pod, podDisruptionBudgets, priorityOf } from "#kinds";
import { actions } from "../../framework/cluster-events.ts";
import type { Plugin, PostFilterResult, SchedulingContext } from "../../framework/contract.ts";
import { fitMessage, NodeToStatus } from "../../framework/fit-error.ts";
import type { PluginHandle } from "../../framework/handle.ts";
import type { NodeInfo } from "../../framework/node-info.ts";
import { unresolvable, unschedulable } from "../../framework/status.ts";
import { Evictions } from "./evictions.ts";
import { type Budget, budgetOf, type Candidate, pickCandidate, selectVictims } from "./victims.ts";

const name = "DefaultPreemption";
const isRunning = unresolvable(name, "waiting for the preemption for this pod to be finished");
const notHelpful = "Preemption is not helpful for scheduling";

export interface PreemptionArgs {
  /** Minimum percentage of nodes to try for preemption. */
  readonly minCandidateNodesPercentage: number;
  readonly minCandidateNodesAbsolute: number;
}

/** DefaultPreemption: evicts pods of lower priority in favor of a pod that fits on no node. */
export function defaultPreemption(handle: PluginHandle, args: PreemptionArgs): Plugin {
  handle.informers.of(podDisruptionBudgets);
  const evictions = new Evictions(handle);
  return {
    name,
    preEnqueue: (pod) => (evictions.isPreempting(pod) ? isRunning : undefined),
    postFilter: async (context, statuses) => {
      handle.instruments.add("scheduler_preemption_attempts_total", {}, 1);
      const result = await preempt(handle, args, { context, statuses, evictions });
      if (result.status === undefined) return result;
      const reasons = [`preemption: ${result.status.reasons.join(", ")}`];
      return { ...result, status: { ...result.status, reasons } };
    },
    // Ungates pods that wait for their preemption; other plugins decide whether they fit.
    events: [{ resource: "Pod", action: actions.delete, hint: () => false }],
  };
}

interface Preemption {
  readonly context: SchedulingContext;
  readonly statuses: NodeToStatus;
  readonly evictions: Evictions;
}

async function preempt(
  handle: PluginHandle,
  args: PreemptionArgs,
  { context, statuses, evictions }: Preemption,
): Promise<PostFilterResult> {
  const pod = handle.currentPod(context.pod) ?? context.pod;
  const ineligible = ineligibility(handle, pod, statuses);
  if (ineligible !== undefined) return { status: unschedulable(name, ineligible) };
  const { nodes } = handle.snapshot;
  const potential = nodes.filter((node) => statuses.get(node.name).code === "Unschedulable");
  const refused = new NodeToStatus();
  refused.absent = unresolvable(name, notHelpful);
  const candidates = await tryOut(handle, args, { context, potential, refused });
  const left = await handle.extenders.preempt(pod, candidates, (each) => handle.snapshot.get(each));
  const best = pickCandidate(left);
  if (best === undefined) {
    const none = { nodeToStatus: refused, preFilterMessage: "", postFilterMessage: "" };
    const message = fitMessage(nodes.length, none);
    return { nominatedNodeName: "", status: unschedulable(name, message) };
  }
  evictions.begin(pod, best);
  return { nominatedNodeName: best.node };
}

/** Reason why the pod may not preempt now; undefined = eligible. */
function ineligibility(
  { snapshot }: PluginHandle,
  pod: Pod,
  statuses: NodeToStatus,
): string | undefined {
  if (pod.spec?.preemptionPolicy === "Never") {
    return "not eligible due to preemptionPolicy=Never.";
  }
  const nominated = pod.status?.nominatedNodeName ?? "";
  if (nominated === "") return undefined;
  if (statuses.get(nominated).code === "UnschedulableAndUnresolvable") return undefined;
  const isWaiting = snapshot
    .get(nominated)
    ?.pods.some((each) => priorityOf(each.pod) < priorityOf(pod) && isPreempted(each.pod));
  return isWaiting ? "not eligible due to a terminating pod on the nominated node." : undefined;
}

/** Whether the pod is terminating because a scheduler preempted it. */
function isPreempted({ metadata, status }: Pod): boolean {
  const target = status?.conditions?.find(({ type }) => type === "DisruptionTarget");
  return (
    metadata.deletionTimestamp !== undefined &&
    target?.status === "True" &&
    target.reason === "PreemptionByScheduler"
  );
}

interface Trial {
  readonly context: SchedulingContext;
  readonly potential: readonly NodeInfo[];
  /** Collects the status of nodes that are no candidates. */
  readonly refused: NodeToStatus;
}

/** Dry-runs preemption from a random node on, until there are enough candidates, one without violations. */
async function tryOut(
  { informers, random, filters }: PluginHandle,
  args: PreemptionArgs,
  { context, potential, refused }: Trial,
): Promise<readonly Candidate[]> {
  const candidates: Candidate[] = [];
  if (potential.length === 0) return candidates;
  const { minCandidateNodesPercentage: percentage, minCandidateNodesAbsolute: absolute } = args;
  const share = Math.trunc((potential.length * percentage) / 100);
  const enough = Math.min(Math.max(share, absolute), potential.length);
  const budgets: readonly Budget[] = [...informers.of(podDisruptionBudgets).all()].map(budgetOf);
  const offset = random.below(potential.length);
  for (let at = 0; at < potential.length; at++) {
    const node = potential[(offset + at) % potential.length]!;
    const trial = { ...context, state: context.state.copy() };
    const found = selectVictims(filters(), trial, node.copy(), budgets);
    if ("code" in found) refused.set(node.name, found);
    else if (found.victims.length > 0) candidates.push(found);
    const isEnough = candidates.length >= enough;
    if (isEnough && candidates.some(({ violations }) => violations === 0)) break;
    const pause = context.rest();
    if (pause !== undefined) await pause;
  }
  return candidates;
}
