import { type Clock, realClock } from "#base";
import type { Pod } from "#kinds";
import type { Instruments } from "#request";
import type { Diagnosis } from "../framework/fit-error.ts";
import type { PreemptionVictims } from "../framework/handle.ts";
import type { NodeInfo } from "../framework/node-info.ts";
import type { Plugin } from "../framework/contract.ts";
import { unresolvable, unschedulable } from "../framework/status.ts";
import type { ExtenderOptions } from "./extender-options.ts";
import { HttpExtender } from "./http-extender.ts";

/** Name under which all extenders appear among rejecting plugins. */
const name = "Extender";

/** Represents extenders in the queue: any event may make a pod schedulable that they rejected. */
export const extenderPlugin: Plugin = { name, events: [{ resource: "*", action: -1 }] };

export interface ExtendersContext {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly instruments: Instruments;
  readonly report: (what: string, error: unknown) => void;
}

/** The extenders of a scheduler, called in order. */
export class Extenders {
  private readonly extenders: readonly HttpExtender[];
  /** Number of pending prioritize calls. */
  private prioritizing = 0;

  constructor(
    options: readonly ExtenderOptions[],
    private readonly context: ExtendersContext,
  ) {
    this.extenders = options.map(
      (each) => new HttpExtender(each, context.signal, realClock(context.clock)),
    );
    const { instruments } = context;
    const labels = { operation: "prioritizing_extender" };
    instruments.beforeRead(() => {
      if (!this.isEmpty) instruments.set("scheduler_goroutines", labels, this.prioritizing);
    });
  }

  get isEmpty(): boolean {
    return this.extenders.length === 0;
  }

  get hasFilters(): boolean {
    return this.extenders.some(({ options }) => options.filterVerb !== "");
  }

  get hasPrioritizers(): boolean {
    return this.extenders.some(({ options }) => options.prioritizeVerb !== "");
  }

  /** Returns the nodes that all extenders accept; adds the rejected ones to the diagnosis. */
  async filter(
    pod: Pod,
    nodes: readonly NodeInfo[],
    diagnosis: Diagnosis,
  ): Promise<readonly NodeInfo[]> {
    let left = nodes;
    for (const extender of this.interested(pod, "filterVerb")) {
      if (left.length === 0) break;
      const given = left;
      const result = await this.tolerant(extender, () => extender.filter(pod, given));
      if (result === undefined) continue;
      for (const [node, reason] of result.failed) {
        diagnosis.nodeToStatus.set(node, unschedulable(name, reason));
      }
      for (const [node, reason] of result.unresolvable) {
        diagnosis.nodeToStatus.set(node, unresolvable(name, reason));
      }
      left = result.nodes;
    }
    if (left.length < nodes.length) diagnosis.unschedulablePlugins.add(name);
    return left;
  }

  /** Adds the scores of all extenders; a failing extender adds none. */
  async prioritize(pod: Pod, nodes: readonly NodeInfo[], totals: number[]): Promise<void> {
    const called = this.interested(pod, "prioritizeVerb").map(async (extender) => {
      this.prioritizing++;
      try {
        return await extender.prioritize(pod, nodes);
      } catch (error) {
        this.tell(extender, error);
        return undefined;
      } finally {
        this.prioritizing--;
      }
    });
    for (const scores of await Promise.all(called)) {
      if (scores === undefined) continue;
      for (const [at, node] of nodes.entries()) totals[at]! += scores.get(node.name) ?? 0;
    }
  }

  /** Returns whether an extender bound the pod. @throws if its call failed */
  async bind(pod: Pod, node: string): Promise<boolean> {
    for (const extender of this.interested(pod, "bindVerb")) {
      const bound = await this.tolerant(extender, async () => {
        await extender.bind(pod, node);
        return true;
      });
      if (bound === true) return true;
    }
    return false;
  }

  /** Returns the preemption candidates that all extenders accept. */
  async preempt(
    pod: Pod,
    candidates: readonly PreemptionVictims[],
    nodeOf: (name: string) => NodeInfo | undefined,
  ): Promise<readonly PreemptionVictims[]> {
    let left = candidates;
    for (const extender of this.interested(pod, "preemptVerb")) {
      if (left.length === 0) break;
      const given = left;
      const result = await this.tolerant(extender, () => extender.preempt(pod, given, nodeOf));
      if (result === undefined) continue;
      const empty = result.find(({ victims }) => victims.length === 0);
      if (empty !== undefined && !extender.options.ignorable) {
        throw new Error(`expected at least one victim pod on node "${empty.node}"`);
      }
      left = result.filter(({ victims }) => victims.length > 0);
    }
    return left;
  }

  private interested(
    pod: Pod,
    verb: "filterVerb" | "prioritizeVerb" | "bindVerb" | "preemptVerb",
  ): readonly HttpExtender[] {
    return this.extenders.filter(
      (extender) => extender.options[verb] !== "" && extender.isInterested(pod),
    );
  }

  /** Result of a call; undefined = an ignorable extender failed. */
  private async tolerant<T>(
    extender: HttpExtender,
    call: () => Promise<T>,
  ): Promise<T | undefined> {
    try {
      return await call();
    } catch (error) {
      if (!extender.options.ignorable || this.context.signal.aborted) throw error;
      this.tell(extender, error);
      return undefined;
    }
  }

  private tell({ options }: HttpExtender, error: unknown): void {
    if (!this.context.signal.aborted)
      this.context.report(`Skipping extender ${options.url}`, error);
  }
}
