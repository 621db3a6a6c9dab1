import type { Clock } from "#base";
import { formatSeconds } from "#meta";
import type { Autoscaler, AutoscalerCondition } from "./autoscaling-kinds.ts";

/** A condition without its time. */
export type Condition = Omit<AutoscalerCondition, "lastTransitionTime">;

/** The conditions of an autoscaler, as they will be after this look at it. */
export class StatusDraft {
  /** `2024-01-02T03:04:05Z`. */
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

  /** Sets a condition; its time changes with its status only. */
  set(condition: Condition): void {
    const index = this.held.findIndex(({ type }) => type === condition.type);
    const before = this.held[index];
    const since = before?.status === condition.status ? before.lastTransitionTime : this.now;
    const next = { ...condition, lastTransitionTime: since ?? this.now };
    if (before === undefined) this.held.push(next);
    else this.held[index] = next;
  }
}

/** The scale of the target could be read. */
export const gotScale: Condition = {
  type: "AbleToScale",
  status: "True",
  reason: "SucceededGetScale",
  message: "the HPA controller was able to get the target's current scale",
};

/** A target without replicas is left alone. */
export const scalingDisabled: Condition = {
  type: "ScalingActive",
  status: "False",
  reason: "ScalingDisabled",
  message: "scaling is disabled since the replica count of the target is zero",
};

/** A metric decided. */
export function validMetric(name: string): Condition {
  const message = `the HPA was able to successfully calculate a replica count from ${name}`;
  return { type: "ScalingActive", status: "True", reason: "ValidMetricFound", message };
}
