import type {
  ConcurrencyLimits,
  PriorityLevelMetrics,
  PriorityLevelSettings,
  PriorityLevelState,
} from "../contract.ts";
import type { Adjustment, Borrower } from "./concurrency-limits.ts";
import { QueueSet, type QueueSetParts } from "../queuing/queue-set.ts";
import { type SeatDemand, SeatDemandIntegrator } from "../queuing/seat-demand.ts";

/** Maximum share of the nominal limit for one request, as in Kubernetes. */
const maxSeatsFraction = 0.15;

/** Dependencies of a priority level. */
export type PriorityLevelParts = Omit<QueueSetParts, "demand" | "onIdle"> & {
  /** Called when a quiescing level has no more requests. */
  readonly onDrained: () => void;
};

/** A priority level: settings, limits and queues. */
export class PriorityLevel {
  readonly queueSet: QueueSet;
  /** The level was removed from the configuration and still has requests. */
  isQuiescing = false;
  limits: ConcurrencyLimits = { nominal: 0, lower: 0, upper: 0 };
  currentLimit = 0;
  private readonly metrics: PriorityLevelMetrics;
  private readonly demand: SeatDemandIntegrator;

  constructor(
    public settings: PriorityLevelSettings,
    private readonly parts: PriorityLevelParts,
  ) {
    this.metrics = parts.metrics;
    this.demand = new SeatDemandIntegrator(parts.clock.monotonic());
    const onIdle = () => {
      if (this.isQuiescing) parts.onDrained();
    };
    this.queueSet = new QueueSet({ ...parts, demand: this.demand, onIdle });
  }

  get name(): string {
    return this.settings.name;
  }

  /** Undefined for levels without queues. */
  get maxSeats(): number | undefined {
    const { settings, limits } = this;
    if (settings.type === "Exempt" || settings.queuing === undefined) return undefined;
    const byLimit = Math.ceil(limits.nominal * maxSeatsFraction);
    return Math.max(1, Math.min(byLimit, Math.floor(limits.nominal / settings.queuing.handSize)));
  }

  /** Sum of the length limits of all queues. */
  get queueCapacity(): number {
    const { settings } = this;
    if (settings.type === "Exempt" || settings.queuing === undefined) return 0;
    return settings.queuing.queues * settings.queuing.queueLengthLimit;
  }

  configure(settings: PriorityLevelSettings, limits: ConcurrencyLimits): void {
    this.settings = settings;
    this.limits = limits;
    const isExempt = settings.type === "Exempt";
    this.queueSet.configure({ isExempt, queuing: isExempt ? undefined : settings.queuing });
    this.metrics.limits(limits);
  }

  /** Ends an adjustment period; returns the input of `adjustLimits`. */
  endPeriod(): Borrower {
    const { limits, currentLimit } = this;
    const demand = this.demand.endPeriod(this.parts.clock.monotonic());
    return { isExempt: this.settings.type === "Exempt", limits, demand, currentLimit };
  }

  adjust({ target, currentLimit }: Adjustment, demand: SeatDemand, totalConcurrency: number): void {
    this.currentLimit = currentLimit;
    this.metrics.adjusted({ ...demand, target, currentLimit });
    const denominator = currentLimit > 0 ? currentLimit : Math.round(totalConcurrency / 10);
    this.queueSet.setLimit(currentLimit, Math.max(1, denominator));
  }

  state(): PriorityLevelState {
    const { accounts } = this.queueSet;
    return {
      name: this.name,
      isQuiescing: this.isQuiescing,
      nominalLimit: this.limits.nominal,
      lowerLimit: this.limits.lower,
      upperLimit: this.limits.upper,
      currentLimit: this.currentLimit,
      seatsInUse: accounts.seatsInUse,
      seatsWaiting: accounts.seatsWaiting,
      requestsExecuting: accounts.requestsExecuting,
      requestsWaiting: accounts.requestsWaiting,
    };
  }
}
