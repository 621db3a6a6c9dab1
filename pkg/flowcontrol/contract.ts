/**
 * Types of API Priority and Fairness. Configuration and the request stage call a RequestDispatcher,
 * which reports to DispatchMetrics.
 */
import type { Awaitable } from "#base";
import type { RequestInfo } from "#request";

/** Queues of a Limited priority level with limit response Queue. */
export interface QueuingSettings {
  readonly queues: number;
  /** Number of queues that shuffle sharding deals to each flow; at most `queues`. */
  readonly handSize: number;
  readonly queueLengthLimit: number;
}

interface CommonSettings {
  /** Name of the PriorityLevelConfiguration. */
  readonly name: string;
  readonly nominalConcurrencyShares: number;
  /** Percentage of the nominal limit that other levels may borrow, 0 to 100. */
  readonly lendablePercent: number;
}

/** A level whose requests are never limited; it can lend its nominal seats. */
export interface ExemptSettings extends CommonSettings {
  readonly type: "Exempt";
}

export interface LimitedSettings extends CommonSettings {
  readonly type: "Limited";
  /** Percentage of the nominal limit that the level may borrow; absent = unlimited. */
  readonly borrowingLimitPercent?: number | undefined;
  /** Absent = limit response Reject. */
  readonly queuing?: QueuingSettings | undefined;
}

/** The fields of a PriorityLevelConfiguration that dispatch uses, defaults applied. */
export type PriorityLevelSettings = ExemptSettings | LimitedSettings;

/** Seats that a request occupies during execution and in the final phase. */
export interface WorkEstimate {
  /** Seats while the request executes. */
  readonly initialSeats: number;
  /** Seats during `additionalLatency`, after the response has been sent. */
  readonly finalSeats: number;
  /** Time in ms for which seats stay occupied after execution; 0 = no final phase. */
  readonly additionalLatency: number;
}

/** A classified request. The dispatcher refers to the object until the request is released. */
export interface FlowRequest {
  /** Name of the FlowSchema that matched. */
  readonly flowSchema: string;
  /** Identifies the flow within the FlowSchema; "" if it has no distinguisher method. */
  readonly flowDistinguisher: string;
  readonly estimate: WorkEstimate;
  /** For dumps; the verb also labels metrics and separates read-only from mutating requests. */
  readonly info: RequestInfo;
  /** For dumps. */
  readonly userName: string;
}

/** Limits of the time in a queue; not read for requests that are dispatched immediately. */
export interface WaitLimits {
  /** Aborts when the client disconnects: the request leaves its queue as "cancelled". */
  readonly signal: AbortSignal;
  /** `Clock.monotonic()` time in ms at which the request leaves its queue as "time-out". */
  readonly deadline: number;
}

/** Values of the label "reason" of apiserver_flowcontrol_rejected_requests_total. */
export type RejectionReason = "queue-full" | "concurrency-limit" | "time-out" | "cancelled";

/** An admitted request, which occupies its seats until `release`. */
export interface Admission {
  readonly admitted: true;
  /** Time in ms that the request spent in a queue; 0 if it was dispatched immediately. */
  readonly waited: number;
  /**
   * Ends execution: call once the response has been sent or, for a watch, once the watch is
   * initialized. Seats of the final phase are freed `additionalLatency` later. Further calls do
   * nothing.
   */
  release(): void;
}

export interface Rejection {
  readonly admitted: false;
  readonly reason: RejectionReason;
  /** Value for Retry-After in seconds; grows while the level keeps rejecting requests. */
  readonly retryAfter: number;
}

/** A snapshot of the seats and limits of one priority level. */
export interface PriorityLevelState {
  readonly name: string;
  /** The level was removed from the configuration and still has requests. */
  readonly isQuiescing: boolean;
  readonly nominalLimit: number;
  readonly lowerLimit: number;
  readonly upperLimit: number;
  readonly currentLimit: number;
  readonly seatsInUse: number;
  readonly seatsWaiting: number;
  readonly requestsExecuting: number;
  readonly requestsWaiting: number;
}

/** Assigns seats to requests: fairly within a priority level, isolated between levels. */
export interface RequestDispatcher {
  /**
   * Replaces the set of priority levels and divides `totalConcurrency` seats among them by their
   * shares. Waiting requests stay in their queues; a level that is no longer listed is quiescing, and
   * is removed when idle. The settings must pass `queuingFault`.
   */
  configure(levels: readonly PriorityLevelSettings[], totalConcurrency: number): void;
  /**
   * Requests the seats. The result is a promise only if the request is queued, and the promise is
   * never rejected. If the level was removed after classification, the result is a Rejection: the
   * client's retry is classified by the new configuration.
   */
  start(level: string, request: FlowRequest, wait: WaitLimits): Awaitable<Admission | Rejection>;
  /**
   * Maximum seats of a work estimate at the level: 15 % of its nominal limit, at most the limit divided
   * by the hand size, at least 1. The estimator additionally caps at 10. Undefined for levels without
   * queues.
   */
  maxSeats(level: string): number | undefined;
  /** State of all levels, sorted by name. */
  levels(): readonly PriorityLevelState[];
  /** The table of /debug/api_priority_and_fairness/dump_priority_levels. */
  dumpPriorityLevels(): string;
  /** The table of /debug/api_priority_and_fairness/dump_queues. */
  dumpQueues(): string;
  /**
   * The table of /debug/api_priority_and_fairness/dump_requests; `includeDetails` is true if the
   * query parameter includeRequestDetails is not empty.
   */
  dumpRequests(includeDetails: boolean): string;
  /**
   * Stops all timers and rejects the waiting requests as "cancelled". Later requests are admitted or
   * rejected immediately, and final phases are skipped.
   */
  close(): void;
}

/** Concurrency limits of a priority level in seats, derived from its configuration. */
export interface ConcurrencyLimits {
  readonly nominal: number;
  readonly lower: number;
  readonly upper: number;
}

/** Seat demand of a priority level over the last adjustment period, and the resulting limit. */
export interface SeatAdjustment {
  readonly highWatermark: number;
  readonly average: number;
  readonly deviation: number;
  readonly smoothed: number;
  readonly target: number;
  readonly currentLimit: number;
}

/** Progress of fair queuing in a priority level, in seat-seconds of virtual time. */
export interface DispatchProgress {
  readonly currentR: number;
  /** R at the last dispatch. */
  readonly dispatchR: number;
  /** Virtual start of the last dispatched request. */
  readonly latestS: number;
  /** Bounds of the next virtual start over the queues with waiting requests; absent if none. */
  readonly nextS?: readonly [min: number, max: number] | undefined;
  /** As `nextS`, less the estimated work in progress of each queue. */
  readonly nextDiscountedS?: readonly [min: number, max: number] | undefined;
}

/** A fraction sampled over time into a histogram, weighted by nanoseconds. */
export interface RatioGauge {
  /** @param now `Clock.monotonic()` in ms. */
  set(numerator: number, now: number): void;
  setDenominator(denominator: number, now: number): void;
}

export type RequestKind = "readOnly" | "mutating";

/** Metrics of requests of one FlowSchema at one priority level. Times in seconds. */
export interface FlowMetrics {
  /** rejected_requests_total. */
  rejected(reason: RejectionReason): void;
  /** dispatched_requests_total. */
  dispatched(): void;
  /** current_inqueue_requests and current_inqueue_seats. */
  addQueued(requests: number, seats: number): void;
  /** current_executing_requests and current_executing_seats. */
  addExecuting(requests: number, seats: number): void;
  /** request_queue_length_after_enqueue. */
  queueLength(requests: number): void;
  /** request_wait_duration_seconds. */
  waited(seconds: number, execute: boolean): void;
  /** request_execution_seconds. */
  executed(seconds: number, type: "regular" | "watch"): void;
  /** work_estimated_seats. */
  estimatedSeats(seats: number): void;
  /** request_dispatch_no_accommodation_total. */
  notAccommodated(): void;
}

/** Metrics of one priority level. */
export interface PriorityLevelMetrics {
  /** priority_level_seat_utilization. */
  readonly executingSeats: RatioGauge;
  /** priority_level_request_utilization, phase "waiting". */
  readonly waitingRequests: RatioGauge;
  /** priority_level_request_utilization, phase "executing". */
  readonly executingRequests: RatioGauge;
  /** demand_seats. */
  readonly seatDemand: RatioGauge;
  flow(flowSchema: string): FlowMetrics;
  /** nominal_limit_seats, lower_limit_seats, upper_limit_seats. */
  limits(limits: ConcurrencyLimits): void;
  /** demand_seats_*, target_seats and current_limit_seats. */
  adjusted(adjustment: SeatAdjustment): void;
  /** epoch_advance_total. */
  epochAdvanced(success: boolean): void;
  /** current_r, dispatch_r, latest_s, next_s_bounds, next_discounted_s_bounds; read per scrape. */
  observeProgress(progress: () => DispatchProgress): void;
}

/** Records the apiserver_flowcontrol_* metrics. */
export interface DispatchMetrics {
  level(name: string): PriorityLevelMetrics;
  /** read_vs_write_current_requests. */
  currentRequests(phase: "waiting" | "executing", kind: RequestKind): RatioGauge;
  /** seat_fair_frac. */
  fairFraction(fraction: number): void;
  /** watch_count_samples, observed by the work estimator for each mutating request. */
  watchCount(level: string, flowSchema: string, watchers: number): void;
}
