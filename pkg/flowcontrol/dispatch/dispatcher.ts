import { assert, type Awaitable, type Clock, type Random } from "#base";
import type {
  Admission,
  DispatchMetrics,
  FlowRequest,
  PriorityLevelSettings,
  PriorityLevelState,
  Rejection,
  RequestDispatcher,
  WaitLimits,
} from "../contract.ts";
import { adjustLimits, concurrencyLimits } from "./concurrency-limits.ts";
import { CurrentRequests } from "../queuing/current-requests.ts";
import { priorityLevelTable, queueTable, requestTable } from "./dumps.ts";
import { PriorityLevel } from "./priority-level.ts";
import { queuingFault } from "../queuing/shuffle-sharding.ts";
import { type Timed, Timers } from "../queuing/timers.ts";

/** Period in ms of adjustments of the current limits, as in Kubernetes. */
const adjustmentPeriodMs = 10_000;
const saltBytes = 16;
const removedLevel: Rejection = { admitted: false, reason: "concurrency-limit", retryAfter: 1 };

export interface DispatcherParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: DispatchMetrics;
}

/** The RequestDispatcher of API Priority and Fairness. */
export class FairDispatcher implements RequestDispatcher {
  private readonly priorityLevels = new Map<string, PriorityLevel>();
  private readonly timers: Timers;
  private readonly current: CurrentRequests;
  private readonly salt: string;
  private readonly adjustment: Timed;
  private totalConcurrency = 0;
  private nominalSum = 0;
  private isClosed = false;

  constructor(private readonly parts: DispatcherParts) {
    const { clock, random, metrics } = parts;
    this.timers = new Timers(clock);
    this.current = new CurrentRequests(metrics);
    this.salt = Buffer.from(random.bytes(saltBytes)).toString("hex");
    const due = (now: number) => {
      if (this.isClosed) return;
      if (this.removeDrained()) this.divideSeats();
      else this.adjustCurrentLimits();
      this.scheduleAdjustment(now);
    };
    this.adjustment = { dueAt: 0, heapIndex: -1, due };
    this.scheduleAdjustment(clock.monotonic());
  }

  configure(levels: readonly PriorityLevelSettings[], totalConcurrency: number): void {
    if (this.isClosed) return;
    for (const settings of levels) {
      const queuing = settings.type === "Limited" ? settings.queuing : undefined;
      const fault = queuing === undefined ? undefined : queuingFault(queuing);
      assert(fault === undefined, `priority level ${settings.name}: ${fault}`);
    }
    this.totalConcurrency = totalConcurrency;
    const listed = new Map(levels.map((settings) => [settings.name, settings]));
    for (const newLevel of this.priorityLevels.values()) {
      newLevel.isQuiescing = !listed.has(newLevel.name);
    }
    this.removeDrained();
    for (const [name, settings] of listed) {
      const level = this.priorityLevels.get(name);
      if (level === undefined) this.priorityLevels.set(name, this.level(settings));
      else level.settings = settings;
    }
    this.divideSeats();
  }

  start(level: string, request: FlowRequest, wait: WaitLimits): Awaitable<Admission | Rejection> {
    const priorityLevel = this.priorityLevels.get(level);
    if (priorityLevel === undefined) return removedLevel;
    return priorityLevel.queueSet.start(request, wait);
  }

  maxSeats(level: string): number | undefined {
    return this.priorityLevels.get(level)?.maxSeats;
  }

  levels(): readonly PriorityLevelState[] {
    return this.sorted().map((level) => level.state());
  }

  dumpPriorityLevels(): string {
    return priorityLevelTable(this.sorted());
  }

  dumpQueues(): string {
    return queueTable(this.sorted());
  }

  dumpRequests(includeDetails: boolean): string {
    return requestTable(this.sorted(), this.parts.clock, includeDetails);
  }

  close(): void {
    this.isClosed = true;
    for (const level of this.priorityLevels.values()) level.queueSet.close();
    this.timers.close();
  }

  private level(settings: PriorityLevelSettings): PriorityLevel {
    const { clock, metrics } = this.parts;
    const { timers, current, salt } = this;
    const onDrained = () => {
      if (this.removeDrained()) this.divideSeats();
    };
    const own = { clock, timers, current, salt, onDrained };
    return new PriorityLevel(settings, { ...own, metrics: metrics.level(settings.name) });
  }

  /** Removes idle quiescing levels; returns whether there were any. */
  private removeDrained(): boolean {
    const drained = [...this.priorityLevels.values()].filter(
      ({ isQuiescing, queueSet }) => isQuiescing && queueSet.isIdle,
    );
    for (const { name } of drained) this.priorityLevels.delete(name);
    return drained.length > 0;
  }

  /** Divides the seats by shares. Quiescing levels retain theirs, so that they drain. */
  private divideSeats(): void {
    const levels = [...this.priorityLevels.values()];
    const shares = levels.map(({ settings }) => settings.nominalConcurrencyShares);
    const shareSum = shares.reduce((sum, share) => sum + share, 0);
    for (const level of levels) {
      const { settings } = level;
      level.configure(settings, concurrencyLimits(settings, this.totalConcurrency, shareSum));
    }
    const sumOf = (value: (level: PriorityLevel) => number) =>
      levels.reduce((sum, level) => sum + value(level), 0);
    this.nominalSum = sumOf(({ limits }) => limits.nominal);
    const waiting = sumOf(({ queueCapacity }) => queueCapacity);
    const now = this.parts.clock.monotonic();
    this.current.setLimits({ waiting, executing: this.nominalSum }, now);
    this.adjustCurrentLimits();
  }

  /** Lends unused seats of levels to levels with more demand. */
  private adjustCurrentLimits(): void {
    const levels = [...this.priorityLevels.values()];
    const borrowers = levels.map((level) => level.endPeriod());
    const { fairFraction, adjustments } = adjustLimits(this.nominalSum, borrowers);
    this.parts.metrics.fairFraction(fairFraction);
    for (const [index, level] of levels.entries()) {
      const adjustment = adjustments[index];
      const borrower = borrowers[index];
      assert(adjustment !== undefined && borrower !== undefined, "one of each per level");
      level.adjust(adjustment, borrower.demand, this.totalConcurrency);
    }
  }

  private scheduleAdjustment(now: number): void {
    this.adjustment.dueAt = now + adjustmentPeriodMs;
    this.timers.start(this.adjustment);
  }

  private sorted(): readonly PriorityLevel[] {
    return [...this.priorityLevels.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }
}
