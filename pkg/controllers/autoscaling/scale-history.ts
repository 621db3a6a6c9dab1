import type { Clock } from "#base";
import type { AutoscalerCondition, ScalingBehavior, ScalingRules } from "./autoscaling-kinds.ts";

interface Recommendation {
  readonly replicas: number;
  /** In milliseconds since 1970. */
  readonly at: number;
}

interface ScaleEvent {
  /** Pods added or removed, never negative. */
  readonly change: number;
  readonly at: number;
}

export interface ScaleBounds {
  readonly currentReplicas: number;
  readonly desiredReplicas: number;
  readonly minReplicas: number;
  readonly maxReplicas: number;
}

/** Number of replicas within the bounds, and the limit that applied. */
export interface LimitedScale {
  readonly replicas: number;
  readonly conditions: readonly Omit<AutoscalerCondition, "lastTransitionTime">[];
}

interface Limit {
  readonly replicas: number;
  readonly reason: string;
  readonly message: string;
}

/** Without `behavior` one step at most doubles the pods, or adds four. */
const scaleUpFactor = 2;
const scaleUpMinimum = 4;

const tooMany: Omit<Limit, "replicas"> = {
  reason: "TooManyReplicas",
  message: "the desired replica count is more than the maximum replica count",
};
const tooFew: Omit<Limit, "replicas"> = {
  reason: "TooFewReplicas",
  message: "the desired replica count is less than the minimum replica count",
};
const tooFastUp: Omit<Limit, "replicas"> = {
  reason: "ScaleUpLimit",
  message: "the desired replica count is increasing faster than the maximum scale rate",
};
const tooFastDown: Omit<Limit, "replicas"> = {
  reason: "ScaleDownLimit",
  message: "the desired replica count is decreasing faster than the maximum scale rate",
};
const withinRange: Omit<Limit, "replicas"> = {
  reason: "DesiredWithinRange",
  message: "the desired count is within the acceptable range",
};

/**
 * Recent recommendations and scale events of one autoscaler, for stabilization windows and rate limits. In
 * memory only, as in kube-controller-manager.
 */
export class ScaleHistory {
  private recommendations: Recommendation[];
  private scaleUps: ScaleEvent[] = [];
  private scaleDowns: ScaleEvent[] = [];

  constructor(
    private readonly clock: Clock,
    /** Window in ms without `behavior`, and default of `behavior.scaleDown`. */
    private readonly downscaleStabilizationMs: number,
    currentReplicas: number,
  ) {
    this.recommendations = [{ replicas: currentReplicas, at: clock.now() }];
  }

  /** Records a scale event; needed only with `behavior`, which limits the rate. */
  record(before: number, after: number, behavior: ScalingBehavior | undefined): void {
    if (behavior === undefined) return;
    const event = { change: Math.abs(after - before), at: this.clock.now() };
    const withEvent = (events: readonly ScaleEvent[], rules: ScalingRules | undefined) => [
      ...events.filter(({ at }) => at >= event.at - longestPeriodMs(rules)),
      event,
    ];
    if (after > before) this.scaleUps = withEvent(this.scaleUps, behavior.scaleUp);
    else this.scaleDowns = withEvent(this.scaleDowns, behavior.scaleDown);
  }

  /** Applies stabilization windows, rate limits and bounds to a recommendation. */
  limit(bounds: ScaleBounds, behavior: ScalingBehavior | undefined): LimitedScale {
    return behavior === undefined ? this.limitByDefault(bounds) : this.limitBy(behavior, bounds);
  }

  private limitByDefault(bounds: ScaleBounds): LimitedScale {
    const { desiredReplicas: wanted } = bounds;
    const cutoff = this.clock.now() - this.downscaleStabilizationMs;
    const recent = this.recommendations.filter(({ at }) => at >= cutoff);
    const stable = Math.max(wanted, ...recent.map(({ replicas }) => replicas));
    this.addRecommendation(wanted, cutoff);
    const stabilized = stable === wanted ? ready : stabilizedDown;
    return concluded(stable, stabilized, limitByRules({ ...bounds, desiredReplicas: stable }));
  }

  private limitBy(behavior: ScalingBehavior, bounds: ScaleBounds): LimitedScale {
    const { scaleUp = {}, scaleDown = {} } = behavior;
    const { currentReplicas, desiredReplicas: wanted } = bounds;
    const now = this.clock.now();
    const upCutoff = now - (scaleUp.stabilizationWindowSeconds ?? 0) * 1000;
    const downSeconds = scaleDown.stabilizationWindowSeconds;
    const downCutoff =
      now - (downSeconds === undefined ? this.downscaleStabilizationMs : downSeconds * 1000);
    const since = (cutoff: number) =>
      this.recommendations.filter(({ at }) => at > cutoff).map(({ replicas }) => replicas);
    const lowest = Math.min(wanted, ...since(upCutoff));
    const highest = Math.max(wanted, ...since(downCutoff));
    const stable = Math.min(Math.max(currentReplicas, lowest), highest);
    this.addRecommendation(wanted, Math.min(upCutoff, downCutoff));
    const direction = wanted >= currentReplicas ? stabilizedUp : stabilizedDown;
    const limit = this.limitRate({ ...bounds, desiredReplicas: stable }, behavior);
    return concluded(stable, stable === wanted ? ready : direction, limit);
  }

  /** Adds a recommendation and drops those older than all windows. */
  private addRecommendation(replicas: number, cutoff: number): void {
    const recent = this.recommendations.filter(({ at }) => at >= cutoff);
    this.recommendations = [...recent, { replicas, at: this.clock.now() }];
  }

  private limitRate(bounds: ScaleBounds, { scaleUp = {}, scaleDown = {} }: ScalingBehavior): Limit {
    const { currentReplicas, desiredReplicas, minReplicas, maxReplicas } = bounds;
    if (desiredReplicas > currentReplicas) {
      const rate = Math.max(this.rateLimit(currentReplicas, scaleUp, "up"), currentReplicas);
      const most = Math.min(maxReplicas, rate);
      const cause = maxReplicas > rate ? tooFastUp : tooMany;
      if (desiredReplicas > most) return { replicas: most, ...cause };
    } else if (desiredReplicas < currentReplicas) {
      const rate = Math.min(this.rateLimit(currentReplicas, scaleDown, "down"), currentReplicas);
      const fewest = Math.max(minReplicas, rate);
      const cause = minReplicas < rate ? tooFastDown : tooFew;
      if (desiredReplicas < fewest) return { replicas: fewest, ...cause };
    }
    return { replicas: desiredReplicas, ...withinRange };
  }

  /** Replica limit by the scaling policies of one direction. */
  private rateLimit(current: number, rules: ScalingRules, direction: "up" | "down"): number {
    const { selectPolicy = "Max", policies = [] } = rules;
    if (selectPolicy === "Disabled") return current;
    const proposals = policies.map(({ type, value, periodSeconds }) => {
      const added = this.changeSince(this.scaleUps, periodSeconds);
      const removed = this.changeSince(this.scaleDowns, periodSeconds);
      const atStart = current - added + removed;
      if (direction === "up") {
        // Rounded up, so that a percentage of few pods can add one.
        return type === "Pods" ? atStart + value : Math.ceil(atStart * (1 + value / 100));
      }
      return type === "Pods" ? atStart - value : Math.trunc(atStart * (1 - value / 100));
    });
    // Max is the highest limit when scaling up, and the lowest when scaling down.
    const highest = (selectPolicy === "Max") === (direction === "up");
    return highest ? Math.max(...proposals) : Math.min(...proposals);
  }

  private changeSince(events: readonly ScaleEvent[], periodSeconds: number): number {
    const cutoff = this.clock.now() - periodSeconds * 1000;
    return events.reduce((sum, { at, change }) => (at > cutoff ? sum + change : sum), 0);
  }
}

const ready = {
  reason: "ReadyForNewScale",
  message: "recommended size matches current size",
};
const stabilizedUp = {
  reason: "ScaleUpStabilized",
  message:
    "recent recommendations were lower than current one, applying the lowest recent recommendation",
};
const stabilizedDown = {
  reason: "ScaleDownStabilized",
  message:
    "recent recommendations were higher than current one, applying the highest recent recommendation",
};

function concluded(
  stable: number,
  stabilized: { readonly reason: string; readonly message: string },
  { replicas, reason, message }: Limit,
): LimitedScale {
  const limited = replicas === stable ? "False" : "True";
  return {
    replicas,
    conditions: [
      { type: "AbleToScale", status: "True", ...stabilized },
      { type: "ScalingLimited", status: limited, reason, message },
    ],
  };
}

function limitByRules(bounds: ScaleBounds): Limit {
  const { currentReplicas, desiredReplicas, minReplicas, maxReplicas } = bounds;
  const rate = Math.max(scaleUpFactor * currentReplicas, scaleUpMinimum);
  const most = Math.min(maxReplicas, rate);
  if (desiredReplicas < minReplicas) return { replicas: minReplicas, ...tooFew };
  if (desiredReplicas > most) {
    return { replicas: most, ...(maxReplicas > rate ? tooFastUp : tooMany) };
  }
  return { replicas: desiredReplicas, ...withinRange };
}

function longestPeriodMs({ policies = [] }: ScalingRules = {}): number {
  return Math.max(0, ...policies.map(({ periodSeconds }) => periodSeconds)) * 1000;
}
