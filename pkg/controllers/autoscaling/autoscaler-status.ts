import type { Clock } from "#base";
import { formatSeconds } from "#meta";
import type { Autoscaler, AutoscalerCondition } from "./autoscaling-kinds.ts";

/** A condition without its time. */
export type Condition = Omit<AutoscalerCondition, "lastTransitionTime">;

/** Conditions of an autoscaler while it is synced. */
export class StatusDraft {
  /** RFC 3339 time of the sync. */
  readonly now: string;
  private readonly held: AutoscalerCondition[];

  constructor(
    { clock }: { readonly clock: Clock },
    readonly autoscaler: Autoscaler,
  ) {
    this.now = formatSeconds({ seconds: Math.floor(clock.now() / 1000), nanos: 0 });
    this.held = [...(autoscaler.status?.conditions ?? [])];
  }

  get conditions(): readonly AutoscalerCondition[] {
    return this.held;
  }

  /** Sets a condition; lastTransitionTime changes only with its status. */
  set(condition: Condition): void {
    const index = this.held.findIndex(({ type }) => type === condition.type);
    const before = this.held[index];
    const since = before?.status === condition.status ? before.lastTransitionTime : this.now;
    const next = { ...condition, lastTransitionTime: since ?? this.now };
    if (before === undefined) this.held.push(next);
    else this.held[index] = next;
  }
}

/** AbleToScale: the scale of the target was read. */
export const gotScale: Condition = {
  type: "AbleToScale",
  status: "True",
  reason: "SucceededGetScale",
  message: "the HPA controller was able to get the target's current scale",
};

/** ScalingActive=False: autoscaling is disabled while the target has zero replicas. */
export const scalingDisabled: Condition = {
  type: "ScalingActive",
  status: "False",
  reason: "ScalingDisabled",
  message: "scaling is disabled since the replica count of the target is zero",
};

/** ScalingActive: a replica count was computed from this metric. */
export function validMetric(name: string): Condition {
  const message = `the HPA was able to successfully calculate a replica count from ${name}`;
  return { type: "ScalingActive", status: "True", reason: "ValidMetricFound", message };
}
