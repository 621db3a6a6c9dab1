/**
 * Types shared by the parts of API Priority and Fairness. Configuration and the request stage call
 * a RequestDispatcher, which reports to DispatchMetrics.
 */
import type { Awaitable } from "#base";
import type { RequestInfo } from "#request";

/** Queues of a Limited priority level whose limit response is Queue. */
export interface QueuingSettings {
  readonly queues: number;
  /** Queues that shuffle sharding deals to each flow; at most `queues`. */
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

/** Level whose requests are never limited; its nominal seats can be lent. */
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

/** The part of a PriorityLevelConfiguration that dispatch needs, defaults applied. */
export type PriorityLevelSettings = ExemptSettings | LimitedSettings;

/** Seats that a request occupies, in two phases. */
export interface WorkEstimate {
  /** Seats while the request executes. */
  readonly initialSeats: number;
  /** Seats during `additionalLatency`, after the response has been sent. */
  readonly finalSeats: number;
  /** Time in ms for which seats stay occupied after execution; 0 = no final phase. */
  readonly additionalLatency: number;
}

/** A classified request. The dispatcher keeps the object until the request is released. */
export interface FlowRequest {
  /** Name of the FlowSchema that matched. */
  readonly flowSchema: string;
  /** Distinguishes flows of one FlowSchema; "" if it has no distinguisher method. */
  readonly flowDistinguisher: string;
  readonly estimate: WorkEstimate;
  /** Shown in dumps; the verb also labels metrics and tells read-only from mutating requests. */
  readonly info: RequestInfo;
  /** Shown in dumps. */
  readonly userName: string;
}

/** What ends the wait of a request. Only read if the request has to wait. */
export interface WaitLimits {
  /** Aborts when the client disconnects: the request leaves its queue as "cancelled". */
  readonly signal: AbortSignal;
  /** `Clock.monotonic()` time in ms at which the request leaves its queue as "time-out". */
  readonly deadline: number;
}

/** Values of the label "reason" of apiserver_flowcontrol_rejected_requests_total. */
export type RejectionReason = "queue-full" | "concurrency-limit" | "time-out" | "cancelled";

/** A request that occupies its seats from now on. */
export interface Admission {
  readonly admitted: true;
  /** Time in ms that the request spent in a queue; 0 if it was admitted at once. */
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

/** Seats and limits of one priority level, as of now. */
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

/** Gives seats to requests: fairly within a priority level, isolated between levels. */
export interface RequestDispatcher {
  /**
   * Replaces the set of priority levels and divides `totalConcurrency` seats among them by their
   * shares. Waiting requests keep their place; a level that is no longer listed drains, and is
   * removed when idle. The settings must pass `queuingFault`.
   */
  configure(levels: readonly PriorityLevelSettings[], totalConcurrency: number): void;
  /**
   * Asks for the request's seats. The result is no promise if it is known at once, as it is for
   * every request that finds its seats free. Never rejects. A level that was removed after the
   * request was classified has no seats: the client's retry is classified by the new configuration.
   */
  start(level: string, request: FlowRequest, wait: WaitLimits): Awaitable<Admission | Rejection>;
  /**
   * Most seats that a work estimate should ask for at the level: 15 % of its nominal limit, at
   * most the limit divided by the hand size, at least 1. The estimator applies its own bound of 10
   * on top. Undefined for levels without queues.
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
   * Stops all timers and rejects the waiting requests as "cancelled". From now on requests are
   * admitted at once or rejected, and a final phase takes no time.
   */
  close(): void;
}

/** Execution seats of a priority level, as configured. */
export interface ConcurrencyLimits {
  readonly nominal: number;
  readonly lower: number;
  readonly upper: number;
}

/** Seat demand of a priority level over the last adjustment period, and what follows from it. */
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

/** Fraction over time, recorded as a histogram weighted by nanoseconds. */
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

/** Records every apiserver_flowcontrol_* metric that dispatch knows. */
export interface DispatchMetrics {
  level(name: string): PriorityLevelMetrics;
  /** read_vs_write_current_requests. */
  currentRequests(phase: "waiting" | "executing", kind: RequestKind): RatioGauge;
  /** seat_fair_frac. */
  fairFraction(fraction: number): void;
  /** watch_count_samples: fed by the work estimator of mutating requests. */
  watchCount(level: string, flowSchema: string, watchers: number): void;
}
