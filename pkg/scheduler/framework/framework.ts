import { priorityOf } from "#kinds";
import type { PermitResult, Plugin, PostFilterResult, SchedulingContext } from "./contract.ts";
import { type ByExtensionPoint, byExtensionPoint, has } from "./extension-points.ts";
import type { NodeToStatus } from "./fit-error.ts";
import type { CountedPlugin, FrameworkMetrics } from "./framework-metrics.ts";
import type { NodeInfo } from "./node-info.ts";
import type { Nominator } from "./nominator.ts";
import type { PodInfo } from "./pod-info.ts";
import { errorStatus, isRejected, type Status, unresolvable, unschedulable } from "./status.ts";

export interface PreFilterOutcome {
  readonly status?: Status;
  readonly nodeNames?: ReadonlySet<string>;
  /** Plugins whose PreFilter restricted the nodes. */
  readonly narrowing: ReadonlySet<string>;
}

/** Plugins of a profile. */
export interface FrameworkOptions {
  readonly profileName: string;
  /** All plugins of the profile by name. */
  readonly plugins: ReadonlyMap<string, Plugin>;
  /** Names of the plugins per extension point, in order. */
  readonly points: ByExtensionPoint<readonly string[]>;
  /** Weights of the scores, by plugin. */
  readonly weights: ReadonlyMap<string, number>;
  readonly percentageOfNodesToScore: number | undefined;
  readonly nominator: Nominator;
  readonly metrics: FrameworkMetrics;
}

interface Scorer {
  readonly counted: CountedPlugin;
  readonly weight: number;
}

interface ActiveFilters {
  readonly skipped: ReadonlySet<string>;
  /** Size of `skippedFilters` when the filters were selected. */
  readonly size: number;
  readonly filters: readonly CountedPlugin[];
}

/** Runs the plugins of a profile by extension point. Exceptions of plugins become statuses. */
export class Framework {
  readonly profileName: string;
  readonly percentageOfNodesToScore: number | undefined;
  /** All plugins, for their event registrations. */
  readonly plugins: readonly Plugin[];
  readonly metrics: FrameworkMetrics;
  private readonly points: ByExtensionPoint<readonly Plugin[]>;
  private readonly preFilters: readonly CountedPlugin[];
  private readonly filters: readonly CountedPlugin[];
  private readonly preScorers: readonly CountedPlugin[];
  private readonly scorers: readonly Scorer[];
  private readonly nominator: Nominator;
  private active: ActiveFilters = { skipped: new Set(), size: -1, filters: [] };

  constructor(options: FrameworkOptions) {
    const { plugins, metrics } = options;
    this.profileName = options.profileName;
    this.percentageOfNodesToScore = options.percentageOfNodesToScore;
    this.nominator = options.nominator;
    this.metrics = metrics;
    this.plugins = [...plugins.values()];
    this.points = byExtensionPoint((point) =>
      options.points[point].map((name) => plugins.get(name)!).filter((each) => has(each, point)),
    );
    this.preFilters = metrics.counted("preFilter", this.points.preFilter);
    this.filters = metrics.counted("filter", this.points.filter);
    this.preScorers = metrics.counted("preScore", this.points.preScore);
    this.scorers = metrics.counted("score", this.points.score).map((counted) => {
      return { counted, weight: options.weights.get(counted.plugin.name) ?? 1 };
    });
  }

  get hasScorers(): boolean {
    return this.scorers.length > 0;
  }

  get preEnqueues(): readonly Plugin[] {
    return this.points.preEnqueue;
  }

  get queueSort(): NonNullable<Plugin["less"]> {
    return this.points.queueSort[0]!.less!;
  }

  async preFilter(
    context: SchedulingContext,
    nodes: readonly NodeInfo[],
  ): Promise<PreFilterOutcome> {
    const began = this.metrics.now();
    const outcome = await this.runPreFilters(context, nodes);
    this.metrics.point("PreFilter", outcome.status, began);
    return outcome;
  }

  private async runPreFilters(
    context: SchedulingContext,
    nodes: readonly NodeInfo[],
  ): Promise<PreFilterOutcome> {
    const { skippedFilters } = context.state;
    const narrowing = new Set<string>();
    let nodeNames: ReadonlySet<string> | undefined;
    let rejection: Status | undefined;
    for (const counted of this.preFilters) {
      const { name, preFilter } = counted.plugin;
      const called = this.metrics.run(
        context,
        { plugin: name, point: "PreFilter" },
        () => preFilter!(context, nodes),
        (returned) => returned?.status,
      );
      const result = called instanceof Promise ? await called : called;
      if (result?.status?.code === "Skip") {
        skippedFilters.add(name);
        continue;
      }
      counted.evaluations++;
      if (result?.status !== undefined) {
        const status = { ...result.status, plugin: name };
        if (status.code !== "Unschedulable") return { status, narrowing };
        // The remaining plugins run, too, since preemption needs their state.
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
    const { recordsPluginMetrics } = context.state;
    for (const counted of this.activeFilters(context)) {
      const { plugin } = counted;
      counted.evaluations++;
      const began = recordsPluginMetrics ? this.metrics.now() : 0;
      const status = plugin.filter!(context, node);
      if (recordsPluginMetrics) this.metrics.plugin("Filter", plugin.name, status, began);
      if (status !== undefined) return status;
    }
    return undefined;
  }

  /** Filters that are not skipped for the pod; cached, since all states of a cycle share the set. */
  private activeFilters({ state: { skippedFilters } }: SchedulingContext) {
    const { skipped, size } = this.active;
    if (skipped !== skippedFilters || size !== skippedFilters.size) {
      const filters = this.filters.filter(({ plugin }) => !skippedFilters.has(plugin.name));
      this.active = { skipped: skippedFilters, size: skippedFilters.size, filters };
    }
    return this.active.filters;
  }

  /**
   * Like `filter`, but with the pods of equal or higher priority that are nominated to the node added. The
   * pod must fit with and without them, since they may be scheduled elsewhere.
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
    for (const { plugin } of this.preFilters) {
      if (plugin.addPod === undefined || context.state.skippedFilters.has(plugin.name)) continue;
      const began = context.state.recordsPluginMetrics ? this.metrics.now() : undefined;
      plugin.addPod(context, other, node);
      if (began === undefined) continue;
      this.metrics.plugin("PreFilterExtensionAddPod", plugin.name, undefined, began);
    }
  }

  removePod(context: SchedulingContext, other: PodInfo, node: NodeInfo): void {
    for (const { plugin } of this.preFilters) {
      if (plugin.removePod === undefined || context.state.skippedFilters.has(plugin.name)) continue;
      const began = context.state.recordsPluginMetrics ? this.metrics.now() : undefined;
      plugin.removePod(context, other, node);
      if (began === undefined) continue;
      this.metrics.plugin("PreFilterExtensionRemovePod", plugin.name, undefined, began);
    }
  }

  /** Runs PostFilter plugins until one succeeds. */
  async postFilter(context: SchedulingContext, statuses: NodeToStatus): Promise<PostFilterResult> {
    const began = this.metrics.now();
    const result = await this.runPostFilters(context, statuses);
    this.metrics.point("PostFilter", result.status, began);
    return result;
  }

  private async runPostFilters(
    context: SchedulingContext,
    statuses: NodeToStatus,
  ): Promise<PostFilterResult> {
    const reasons: string[] = [];
    let nominated: Pick<PostFilterResult, "nominatedNodeName"> = {};
    for (const { name, postFilter } of this.points.postFilter) {
      const result = await this.metrics.run(
        context,
        { plugin: name, point: "PostFilter" },
        () => postFilter!(context, statuses),
        (returned) => returned.status,
      );
      const { status, nominatedNodeName } = result;
      if (status === undefined || status.code === "UnschedulableAndUnresolvable") return result;
      if (!isRejected(status)) return { status };
      if (nominatedNodeName !== undefined) nominated = { nominatedNodeName };
      reasons.push(...status.reasons.map((reason) => reason || name));
    }
    return { ...nominated, status: unschedulable("", ...reasons) };
  }

  /** Weighted total scores, by node index. */
  async score(context: SchedulingContext, nodes: readonly NodeInfo[]): Promise<number[]> {
    await this.preScore(context, nodes);
    const began = this.metrics.now();
    const { skippedScores, recordsPluginMetrics } = context.state;
    const totals = nodes.map(() => 0);
    for (const { counted, weight } of this.scorers) {
      const { plugin } = counted;
      if (skippedScores.has(plugin.name)) continue;
      counted.evaluations += nodes.length;
      const scores = recordsPluginMetrics
        ? nodes.map((node) => this.timedScore(plugin, context, node))
        : nodes.map((node) => plugin.score!(context, node));
      this.normalize(plugin, context, { scores, nodes });
      for (let at = 0; at < scores.length; at++) totals[at]! += scores[at]! * weight;
      const pause = context.rest();
      if (pause !== undefined) await pause;
    }
    this.metrics.point("Score", undefined, began);
    return totals;
  }

  private async preScore(context: SchedulingContext, nodes: readonly NodeInfo[]): Promise<void> {
    const began = this.metrics.now();
    for (const counted of this.preScorers) {
      const { name, preScore } = counted.plugin;
      const called = this.metrics.run(
        context,
        { plugin: name, point: "PreScore" },
        () => preScore!(context, nodes),
        (returned) => returned,
      );
      const status = called instanceof Promise ? await called : called;
      if (status?.code === "Skip") {
        context.state.skippedScores.add(name);
        continue;
      }
      counted.evaluations++;
      if (status === undefined) continue;
      this.metrics.point("PreScore", status, began);
      throw new Error(`running PreScore plugin "${name}": ${status.reasons.join(", ")}`);
    }
    this.metrics.point("PreScore", undefined, began);
  }

  private timedScore(plugin: Plugin, context: SchedulingContext, node: NodeInfo): number {
    const began = this.metrics.now();
    const score = plugin.score!(context, node);
    this.metrics.plugin("Score", plugin.name, undefined, began);
    return score;
  }

  private normalize(
    { name, normalizeScore }: Plugin,
    context: SchedulingContext,
    { scores, nodes }: { readonly scores: number[]; readonly nodes: readonly NodeInfo[] },
  ): void {
    if (normalizeScore === undefined) return;
    const { recordsPluginMetrics } = context.state;
    const began = recordsPluginMetrics ? this.metrics.now() : 0;
    normalizeScore(context, scores, nodes);
    if (!recordsPluginMetrics) return;
    this.metrics.plugin("ScoreExtensionNormalize", name, undefined, began);
  }

  async reserve(context: SchedulingContext, node: string): Promise<Status | undefined> {
    return this.atPoint("Reserve", async () => {
      for (const { name, reserve } of this.points.reserve) {
        const at = { plugin: name, point: "Reserve" };
        const status = await this.statusOf(context, at, () => reserve?.(context, node));
        if (status !== undefined) return status;
      }
      return undefined;
    });
  }

  /** Runs Unreserve in reverse order; plugins must tolerate it without a reservation. */
  unreserve(context: SchedulingContext, node: string): void {
    const began = this.metrics.now();
    for (const { name, unreserve } of this.points.reserve.toReversed()) {
      const at = context.state.recordsPluginMetrics ? this.metrics.now() : undefined;
      unreserve?.(context, node);
      if (at !== undefined) this.metrics.plugin("Unreserve", name, undefined, at);
    }
    this.metrics.point("Unreserve", undefined, began);
  }

  /** Runs Permit plugins. Returns a rejection, or the decisions for which the binding waits. */
  async permit(
    context: SchedulingContext,
    node: string,
  ): Promise<{ readonly status?: Status; readonly waits: readonly Promise<Status | undefined>[] }> {
    const waits: Promise<Status | undefined>[] = [];
    const status = await this.atPoint("Permit", async () => {
      for (const { name, permit } of this.points.permit) {
        let decision: PermitResult["decision"];
        const at = { plugin: name, point: "Permit" };
        const answered = await this.statusOf(context, at, async () => {
          const result = await permit!(context, node);
          decision = result?.decision;
          return result?.status;
        });
        if (answered === undefined) continue;
        if (answered.code !== "Wait" || decision === undefined) return answered;
        waits.push(decision);
      }
      return undefined;
    });
    return status === undefined ? { waits } : { status, waits };
  }

  async preBind(context: SchedulingContext, node: string): Promise<Status | undefined> {
    return this.atPoint("PreBind", async () => {
      for (const { name, preBind } of this.points.preBind) {
        const at = { plugin: name, point: "PreBind" };
        const status = await this.statusOf(context, at, () => preBind!(context, node));
        if (status === undefined) continue;
        return isRejected(status) ? status : prefixed(`running PreBind plugin "${name}"`, status);
      }
      return undefined;
    });
  }

  async bind(context: SchedulingContext, node: string): Promise<Status | undefined> {
    return this.atPoint("Bind", async () => {
      for (const { name, bind } of this.points.bind) {
        const at = { plugin: name, point: "Bind" };
        const status = await this.statusOf(context, at, () => bind!(context, node));
        if (status?.code !== "Skip") return status;
      }
      return errorStatus("", new Error("no plugin has bound the pod"));
    });
  }

  postBind(context: SchedulingContext, node: string): void {
    const began = this.metrics.now();
    for (const { postBind } of this.points.postBind) postBind!(context, node);
    this.metrics.point("PostBind", undefined, began);
  }

  private async atPoint(
    point: string,
    work: () => Promise<Status | undefined>,
  ): Promise<Status | undefined> {
    const began = this.metrics.now();
    const status = await work();
    this.metrics.point(point, status, began);
    return status;
  }

  private async statusOf(
    context: SchedulingContext,
    at: { readonly plugin: string; readonly point: string },
    call: () => Status | undefined | Promise<Status | undefined>,
  ): Promise<Status | undefined> {
    try {
      const status = await this.metrics.run(context, at, call, (returned) => returned);
      return status === undefined || status.code === "Skip"
        ? status
        : { ...status, plugin: at.plugin };
    } catch (error) {
      return errorStatus(at.plugin, error);
    }
  }
}

function prefixed(prefix: string, { reasons, plugin }: Status): Status {
  return errorStatus(plugin, new Error(`${prefix}: ${reasons.join(", ")}`));
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
