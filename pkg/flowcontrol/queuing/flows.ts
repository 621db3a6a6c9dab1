import { setBounded } from "#base";
import type { FlowMetrics, PriorityLevelMetrics, QueuingSettings } from "../contract.ts";
import { deal, hashFlow } from "./shuffle-sharding.ts";

/** Cached hands per FlowSchema; the hands of other flows are recomputed. */
const maxCachedHands = 1024;

/** The flows of one FlowSchema at a priority level. */
export interface SchemaFlows {
  readonly metrics: FlowMetrics;
  /** Hands by flow distinguisher. */
  readonly hands: Map<string, readonly number[]>;
}

/** Metrics and shuffle-sharding hands of the flows of a priority level. */
export class Flows {
  private readonly schemas = new Map<string, SchemaFlows>();

  constructor(
    private readonly metrics: PriorityLevelMetrics,
    private readonly salt: string,
  ) {}

  schema(name: string): SchemaFlows {
    const existing = this.schemas.get(name);
    if (existing !== undefined) return existing;
    const flows: SchemaFlows = { metrics: this.metrics.flow(name), hands: new Map() };
    this.schemas.set(name, flows);
    return flows;
  }

  /** Indexes of the queues that shuffle sharding deals to the flow. */
  hand(flowSchema: string, distinguisher: string, settings: QueuingSettings): readonly number[] {
    const { hands } = this.schema(flowSchema);
    const cached = hands.get(distinguisher);
    if (cached !== undefined) return cached;
    const hand = deal(settings, hashFlow(this.salt, flowSchema, distinguisher));
    setBounded(hands, [distinguisher, hand], maxCachedHands);
    return hand;
  }

  /** Clears the cached hands after a change of the number of queues or the hand size. */
  clearHands(): void {
    for (const { hands } of this.schemas.values()) hands.clear();
  }
}
