import { priorityOf } from "#kinds";
import type { NodeToStatus } from "./fit-error.ts";
import type { PermitResult, Plugin, PostFilterResult, SchedulingContext } from "./contract.ts";
import type { NodeInfo } from "./node-info.ts";
import type { Nominator } from "./nominator.ts";
import type { PodInfo } from "./pod-info.ts";
import { errorStatus, isRejected, type Status, unresolvable, unschedulable } from "./status.ts";

/** A plugin of a profile, with the weight of its scores. */
export interface EnabledPlugin {
  readonly plugin: Plugin;
  readonly weight: number;
}

export interface PreFilterOutcome {
  readonly status?: Status;
  readonly nodeNames?: ReadonlySet<string>;
  /** Plugins that narrowed the nodes. */
  readonly narrowing: ReadonlySet<string>;
}

/** The plugins of a profile, by extension point. Errors of plugins are statuses. */
export class Framework {
  readonly plugins: readonly Plugin[];
  private readonly filters: readonly Plugin[];
  private readonly scorers: readonly EnabledPlugin[];

  constructor(
    readonly profileName: string,
    enabled: readonly EnabledPlugin[],
    readonly percentageOfNodesToScore: number | undefined,
    private readonly nominator: Nominator,
  ) {
    this.plugins = enabled.map(({ plugin }) => plugin);
    this.filters = this.plugins.filter(({ filter }) => filter !== undefined);
    this.scorers = enabled.filter(({ plugin }) => plugin.score !== undefined);
  }

  get hasScorers(): boolean {
    return this.scorers.length > 0;
  }

  async preFilter(
    context: SchedulingContext,
    nodes: readonly NodeInfo[],
  ): Promise<PreFilterOutcome> {
    const { skippedFilters } = context.state;
    const narrowing = new Set<string>();
    let nodeNames: ReadonlySet<string> | undefined;
    let rejection: Status | undefined;
    for (const plugin of this.plugins) {
      if (plugin.preFilter === undefined) continue;
      const { name } = plugin;
      const called = plugin.preFilter(context, nodes);
      const result = called instanceof Promise ? await called : called;
      if (result?.status?.code === "Skip") {
        skippedFilters.add(name);
        continue;
      }
      if (result?.status !== undefined) {
        const status = { ...result.status, plugin: name };
        if (status.code !== "Unschedulable") return { status, narrowing };
        // The other plugins prepare for preemption.
        rejection = status;
        continue;
      }
      if (result?.nodeNames === undefined) continue;
      narrowing.add(name);
      const narrowed = intersection(nodeNames, result.nodeNames);
      nodeNames = narrowed;
      if (narrowed.size > 0) continue;
      return { status: noNodeLeft(narrowing), nodeNames: narrowed, narrowing };
    }
    return {
      ...(rejection === undefined ? {} : { status: rejection }),
      ...(nodeNames === undefined ? {} : { nodeNames }),
      narrowing,
    };
  }

  /** The first rejection of the node, or undefined if the pod fits. */
  filter(context: SchedulingContext, node: NodeInfo): Status | undefined {
    const { skippedFilters } = context.state;
    for (const plugin of this.filters) {
      if (skippedFilters.size > 0 && skippedFilters.has(plugin.name)) continue;
      const status = plugin.filter!(context, node);
      if (status !== undefined) return status;
    }
    return undefined;
  }

  /**
   * As `filter`, also with the pods of the same or a higher priority that are nominated to the node:
   * the pod must fit with them, and without them as well, because they may go elsewhere.
   */
  filterWithNominated(context: SchedulingContext, node: NodeInfo): Status | undefined {
    const nominated = this.nominator.podsOn(node.name);
    if (nominated.length === 0) return this.filter(context, node);
    const { pod } = context;
    const others = nominated.filter(
      (each) =>
        priorityOf(each.pod) >= priorityOf(pod) && each.pod.metadata.uid !== pod.metadata.uid,
    );
    if (others.length === 0) return this.filter(context, node);
    const state = context.state.copy();
    const assumed = { ...context, state };
    const copy = node.copy();
    for (const other of others) {
      copy.add(other);
      this.addPod(assumed, other, copy);
    }
    return this.filter(assumed, copy) ?? this.filter(context, node);
  }

  addPod(context: SchedulingContext, other: PodInfo, node: NodeInfo): void {
    for (const { name, addPod } of this.filters) {
      if (!context.state.skippedFilters.has(name)) addPod?.(context, other, node);
    }
  }

  removePod(context: SchedulingContext, other: PodInfo, node: NodeInfo): void {
    for (const { name, removePod } of this.filters) {
      if (!context.state.skippedFilters.has(name)) removePod?.(context, other, node);
    }
  }

  /** Gives each plugin a chance to make the pod schedulable; the first success ends it. */
  async postFilter(context: SchedulingContext, statuses: NodeToStatus): Promise<PostFilterResult> {
    const reasons: string[] = [];
    let nominated: Pick<PostFilterResult, "nominatedNodeName"> = {};
    for (const { name, postFilter } of this.plugins) {
      if (postFilter === undefined) continue;
      const result = await postFilter(context, statuses);
      const { status, nominatedNodeName } = result;
      if (status === undefined || status.code === "UnschedulableAndUnresolvable") return result;
      if (!isRejected(status)) return { status };
      if (nominatedNodeName !== undefined) nominated = { nominatedNodeName };
      reasons.push(...status.reasons.map((reason) => reason || name));
    }
    return { ...nominated, status: unschedulable("", ...reasons) };
  }

  /** Weighted sums of the plugins' scores, by index of the node. */
  async score(context: SchedulingContext, nodes: readonly NodeInfo[]): Promise<number[]> {
    const totals = nodes.map(() => 0);
    for (const { preScore, name } of this.plugins) {
      if (preScore === undefined) continue;
      const called = preScore(context, nodes);
      const status = called instanceof Promise ? await called : called;
      if (status?.code === "Skip") context.state.skippedScores.add(name);
      else if (status !== undefined) throw new Error(status.reasons.join(", "));
    }
    for (const { plugin, weight } of this.scorers) {
      if (context.state.skippedScores.has(plugin.name)) continue;
      const scores = nodes.map((node) => plugin.score!(context, node));
      plugin.normalizeScore?.(context, scores, nodes);
      for (let at = 0; at < scores.length; at++) totals[at]! += scores[at]! * weight;
      const pause = context.rest();
      if (pause !== undefined) await pause;
    }
    return totals;
  }

  async reserve(context: SchedulingContext, node: string): Promise<Status | undefined> {
    for (const { name, reserve } of this.plugins) {
      const status = await statusOf(name, () => reserve?.(context, node));
      if (status !== undefined) return status;
    }
    return undefined;
  }

  /** Undoes `reserve` in reverse order; plugins must bear it without a reservation. */
  unreserve(context: SchedulingContext, node: string): void {
    for (const { unreserve } of this.plugins.toReversed()) unreserve?.(context, node);
  }

  /** Answers a rejection, or the decisions that the binding waits for. */
  async permit(
    context: SchedulingContext,
    node: string,
  ): Promise<{ readonly status?: Status; readonly waits: readonly Promise<Status | undefined>[] }> {
    const waits: Promise<Status | undefined>[] = [];
    for (const { name, permit } of this.plugins) {
      if (permit === undefined) continue;
      let result: PermitResult | undefined;
      try {
        result = await permit(context, node);
      } catch (error) {
        return { status: errorStatus(name, error), waits };
      }
      if (result === undefined) continue;
      if (result.status.code !== "Wait" || result.decision === undefined) {
        return { status: { ...result.status, plugin: name }, waits };
      }
      waits.push(result.decision);
    }
    return { waits };
  }

  async preBind(context: SchedulingContext, node: string): Promise<Status | undefined> {
    for (const { name, preBind } of this.plugins) {
      if (preBind === undefined) continue;
      const status = await statusOf(name, () => preBind(context, node));
      if (status !== undefined) return status;
    }
    return undefined;
  }

  async bind(context: SchedulingContext, node: string): Promise<Status | undefined> {
    for (const { name, bind } of this.plugins) {
      if (bind === undefined) continue;
      const status = await statusOf(name, () => bind(context, node));
      if (status?.code !== "Skip") return status;
    }
    return errorStatus("", new Error("no plugin has bound the pod"));
  }

  postBind(context: SchedulingContext, node: string): void {
    for (const { postBind } of this.plugins) postBind?.(context, node);
  }
}

async function statusOf(
  plugin: string,
  call: () => Status | undefined | Promise<Status | undefined>,
): Promise<Status | undefined> {
  try {
    const called = call();
    const status = called instanceof Promise ? await called : called;
    return status === undefined || status.code === "Skip" ? status : { ...status, plugin };
  } catch (error) {
    return errorStatus(plugin, error);
  }
}

function noNodeLeft(narrowing: ReadonlySet<string>): Status {
  const names = [...narrowing].sort();
  const [only = ""] = names;
  return names.length === 1
    ? unresolvable(only, `node(s) didn't satisfy plugin ${only}`)
    : unresolvable(only, `node(s) didn't satisfy plugin(s) [${names.join(" ")}] simultaneously`);
}

function intersection(
  left: ReadonlySet<string> | undefined,
  right: ReadonlySet<string>,
): ReadonlySet<string> {
  return left === undefined ? right : new Set([...left].filter((each) => right.has(each)));
}
