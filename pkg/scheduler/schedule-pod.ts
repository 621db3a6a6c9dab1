import { setImmediate } from "node:timers/promises";
import type { Random } from "#base";
import type { Snapshot } from "./cache/snapshot.ts";
import type { Extenders } from "./extenders/extenders.ts";
import type { SchedulingContext } from "./framework/contract.ts";
import { addPluginStatus, type Diagnosis, FitError, newDiagnosis } from "./framework/fit-error.ts";
import type { Framework } from "./framework/framework.ts";
import type { NodeInfo } from "./framework/node-info.ts";
import { isRejected, type Status, unresolvable } from "./framework/status.ts";

/** The cluster has no nodes. */
export class NoNodesError extends Error {
  override readonly name = "NoNodesError";
  constructor() {
    super("no nodes available to schedule pods");
  }
}

/** Minimum number of feasible nodes to find. */
const minFeasibleNodes = 100;
const minFeasiblePercentage = 5;

/** Number of nodes filtered between checks of the time slice. */
const nodesBetweenPauses = 16;

/** Number of feasible nodes after which filtering stops. A percentage of 0 adapts to the cluster size. */
function feasibleNodesToFind(nodes: number, percentage: number): number {
  if (nodes < minFeasibleNodes) return nodes;
  const adaptive = Math.max(50 - Math.trunc(nodes / 125), minFeasiblePercentage);
  const share = percentage === 0 ? adaptive : percentage;
  return Math.max(Math.trunc((nodes * share) / 100), minFeasibleNodes);
}

/** Selects the node for a pod: the feasible one with the highest score. */
export class NodeSelection {
  /** Start index of the next cycle, so that all nodes are examined equally often. */
  private nextStart = 0;

  constructor(
    private readonly snapshot: Snapshot,
    private readonly random: Random,
    private readonly percentageOfNodesToScore: number,
    private readonly extenders: Extenders,
  ) {}

  /**
   * @throws FitError if no node fits
   * @throws NoNodesError if there are no nodes
   */
  async select(framework: Framework, context: SchedulingContext): Promise<string> {
    const { nodes } = this.snapshot;
    if (nodes.length === 0) throw new NoNodesError();
    const diagnosis = newDiagnosis();
    const feasible = await this.feasible(framework, context, diagnosis);
    const [first] = feasible;
    if (first === undefined) throw new FitError(nodes.length, diagnosis);
    if (feasible.length === 1) return first.name;
    if (!this.hasScorers(framework)) return this.random.pick(feasible).name;
    const totals = await framework.score(context, feasible);
    if (!this.extenders.isEmpty) await this.extenders.prioritize(context.pod, feasible, totals);
    return this.best(feasible, totals).name;
  }

  private hasScorers({ hasScorers }: Framework): boolean {
    return hasScorers || this.extenders.hasPrioritizers;
  }

  private async feasible(
    framework: Framework,
    context: SchedulingContext,
    diagnosis: Diagnosis,
  ): Promise<readonly NodeInfo[]> {
    const { nodes } = this.snapshot;
    const { status, nodeNames, narrowing } = await framework.preFilter(context, nodes);
    for (const name of narrowing) diagnosis.unschedulablePlugins.add(name);
    if (status !== undefined) {
      if (!isRejected(status)) throw new Error(status.reasons.join(", "));
      diagnosis.nodeToStatus.absent = status;
      diagnosis.preFilterMessage = status.reasons.join(", ");
      addPluginStatus(diagnosis, status);
      return [];
    }
    const nominated = this.snapshot.get(context.pod.status?.nominatedNodeName ?? "");
    if (nominated !== undefined) {
      const [found] = await this.search(framework, context, { nodes: [nominated], diagnosis });
      if (found !== undefined) return [found];
    }
    if (nodeNames === undefined) return this.search(framework, context, { nodes, diagnosis });
    const names = [...narrowing].sort().join(" ");
    const reason = `node(s) didn't satisfy plugin(s) [${names}]`;
    diagnosis.nodeToStatus.absent = unresolvable("", reason);
    const named = [...nodeNames].flatMap((name) => this.snapshot.get(name) ?? []);
    return this.search(framework, context, { nodes: named, diagnosis });
  }

  /** Feasible nodes after filters and extenders. */
  private async search(
    framework: Framework,
    context: SchedulingContext,
    given: { readonly nodes: readonly NodeInfo[]; readonly diagnosis: Diagnosis },
  ): Promise<readonly NodeInfo[]> {
    const found = await this.filter(framework, context, given);
    if (this.extenders.isEmpty || found.length === 0) return found;
    return this.extenders.filter(context.pod, found, given.diagnosis);
  }

  private async filter(
    framework: Framework,
    context: SchedulingContext,
    { nodes, diagnosis }: { readonly nodes: readonly NodeInfo[]; readonly diagnosis: Diagnosis },
  ): Promise<readonly NodeInfo[]> {
    const percentage = framework.percentageOfNodesToScore ?? this.percentageOfNodesToScore;
    const isAnyEnough = !this.hasScorers(framework) && !this.extenders.hasFilters;
    const enough = isAnyEnough ? 1 : feasibleNodesToFind(nodes.length, percentage);
    const feasible: NodeInfo[] = [];
    const began = framework.metrics.now();
    let searched = 0;
    while (searched < nodes.length && feasible.length < enough) {
      const node = nodes[(this.nextStart + searched++) % nodes.length]!;
      let status = framework.filterWithNominated(context, node);
      while (status?.isPaused === true) {
        await setImmediate();
        status = framework.filterWithNominated(context, node);
      }
      if (status === undefined) feasible.push(node);
      else if (status.code === "Error") throw status.error;
      else {
        if (!isRejected(status)) throw filterError(status);
        diagnosis.nodeToStatus.set(node.name, status);
        addPluginStatus(diagnosis, status);
      }
      if (searched % nodesBetweenPauses !== 0) continue;
      const pause = context.rest();
      if (pause !== undefined) await pause;
    }
    this.nextStart = (this.nextStart + searched) % this.snapshot.nodes.length;
    framework.metrics.point("Filter", undefined, began);
    return feasible;
  }

  /** A random one of the nodes with the highest score. */
  private best(nodes: readonly NodeInfo[], scores: readonly number[]): NodeInfo {
    let best = nodes[0]!;
    let highest = -Infinity;
    let ties = 0;
    for (const [at, score] of scores.entries()) {
      if (score < highest) continue;
      ties = score > highest ? 1 : ties + 1;
      highest = score;
      if (this.random.below(ties) === 0) best = nodes[at]!;
    }
    return best;
  }
}

function filterError({ plugin, reasons }: Status): Error {
  return new Error(`running "${plugin}" filter plugin: ${reasons.join(", ")}`);
}
