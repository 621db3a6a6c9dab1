import type { PriorityLevelMetrics, RejectionReason, RequestKind } from "../contract.ts";
import type { CurrentRequests } from "./current-requests.ts";
import type { SeatDemandIntegrator } from "./seat-demand.ts";
import type { SeatRequest } from "./seat-request.ts";

/** Dependencies of the accounts. */
export interface AccountParts {
  readonly metrics: PriorityLevelMetrics;
  readonly demand: SeatDemandIntegrator;
  /** Totals over all levels. */
  readonly current: CurrentRequests;
}

/** Counts requests and seats of one priority level, and updates their metrics. */
export class SeatAccounts {
  /** Seats of executing and lingering requests. */
  seatsInUse = 0;
  seatsWaiting = 0;
  requestsExecuting = 0;
  requestsWaiting = 0;
  dispatched = 0;
  rejected = 0;
  /** Requests whose client disconnected, or whose time to wait passed. */
  cancelled = 0;

  constructor(private readonly parts: AccountParts) {}

  enqueued(request: SeatRequest, now: number): void {
    this.requestsWaiting++;
    this.seatsWaiting += request.seats;
    request.metrics.addQueued(1, request.seats);
    this.parts.current.waiting[kindOf(request)].add(1, now);
    this.parts.metrics.waitingRequests.set(this.requestsWaiting, now);
    this.demandChanged(now);
  }

  dequeued(request: SeatRequest, now: number): void {
    this.requestsWaiting--;
    this.seatsWaiting -= request.seats;
    request.metrics.addQueued(-1, -request.seats);
    this.parts.current.waiting[kindOf(request)].add(-1, now);
    this.parts.metrics.waitingRequests.set(this.requestsWaiting, now);
  }

  started(request: SeatRequest, now: number): void {
    this.requestsExecuting++;
    this.seatsInUse += request.seats;
    this.dispatched++;
    request.metrics.dispatched();
    request.metrics.addExecuting(1, request.seats);
    this.parts.current.executing[kindOf(request)].add(1, now);
    this.parts.metrics.executingRequests.set(this.requestsExecuting, now);
    this.parts.metrics.executingSeats.set(this.seatsInUse, now);
    this.demandChanged(now);
  }

  /** Counts the end of execution; the seats stay in use until `vacated`. */
  finished(request: SeatRequest, now: number): void {
    this.requestsExecuting--;
    request.metrics.addExecuting(-1, 0);
    const type = request.request.info.verb === "watch" ? "watch" : "regular";
    request.metrics.executed((now - request.startedAt) / 1000, type);
    this.parts.current.executing[kindOf(request)].add(-1, now);
    this.parts.metrics.executingRequests.set(this.requestsExecuting, now);
  }

  vacated(request: SeatRequest, now: number): void {
    this.seatsInUse -= request.seats;
    request.metrics.addExecuting(0, -request.seats);
    this.parts.metrics.executingSeats.set(this.seatsInUse, now);
    this.demandChanged(now);
  }

  /** Counts a rejection on arrival, or after `dequeued`. */
  rejectedFor(reason: RejectionReason, now: number): void {
    this.rejected++;
    if (reason === "time-out" || reason === "cancelled") this.cancelled++;
    this.demandChanged(now);
  }

  private demandChanged(now: number): void {
    const seats = this.seatsInUse + this.seatsWaiting;
    this.parts.demand.set(seats, now);
    this.parts.metrics.seatDemand.set(seats, now);
  }
}

function kindOf(request: SeatRequest): RequestKind {
  return request.isMutating ? "mutating" : "readOnly";
}
