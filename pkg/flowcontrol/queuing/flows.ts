import { setBounded } from "#base";
import type { FlowMetrics, PriorityLevelMetrics, QueuingSettings } from "../contract.ts";
import { deal, hashFlow } from "./shuffle-sharding.ts";

/** Hands that are kept per FlowSchema; others are dealt again when their flow comes back. */
const keptHands = 1024;

/** The flows of one FlowSchema at a priority level. */
export interface SchemaFlows {
  readonly metrics: FlowMetrics;
  /** Hands by flow distinguisher. */
  readonly hands: Map<string, readonly number[]>;
}

/** What a priority level remembers of its flows. */
export class Flows {
  private readonly schemas = new Map<string, SchemaFlows>();

  constructor(
    private readonly metrics: PriorityLevelMetrics,
    private readonly salt: string,
  ) {}

  schema(name: string): SchemaFlows {
    const known = this.schemas.get(name);
    if (known !== undefined) return known;
    const made: SchemaFlows = { metrics: this.metrics.flow(name), hands: new Map() };
    this.schemas.set(name, made);
    return made;
  }

  /** Indexes of the queues of a flow. */
  hand(flowSchema: string, distinguisher: string, settings: QueuingSettings): readonly number[] {
    const { hands } = this.schema(flowSchema);
    const known = hands.get(distinguisher);
    if (known !== undefined) return known;
    const hand = deal(settings, hashFlow(this.salt, flowSchema, distinguisher));
    setBounded(hands, [distinguisher, hand], keptHands);
    return hand;
  }

  /** Forgets all hands: the queues were configured differently. */
  dealAgain(): void {
    for (const { hands } of this.schemas.values()) hands.clear();
  }
}
