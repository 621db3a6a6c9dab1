import { assert, type Awaitable, type Clock } from "#base";
import type {
  Admission,
  DispatchProgress,
  FlowRequest,
  PriorityLevelMetrics,
  QueuingSettings,
  Rejection,
  RejectionReason,
  WaitLimits,
} from "../contract.ts";
import { Flows } from "./flows.ts";
import { epochWork, ProgressMeter } from "./progress-meter.ts";
import type { Queue } from "./queue.ts";
import { Queues } from "./queues.ts";
import { RequestList } from "./request-list.ts";
import { RetryAfter } from "./retry-after.ts";
import { type AccountParts, SeatAccounts } from "./seat-accounts.ts";
import { estimatedServiceMs, type RequestOwner, SeatRequest } from "./seat-request.ts";
import { seatsTimesDuration, toSeatSeconds } from "./seat-seconds.ts";
import type { Timers } from "./timers.ts";

/** Dependencies of a queue set. */
export interface QueueSetParts extends AccountParts {
  readonly clock: Clock;
  readonly timers: Timers;
  /** Secret salt of shuffle sharding. */
  readonly salt: string;
  /** Called when the level has no more waiting or executing requests. */
  readonly onIdle: () => void;
}

/** Limits of a queue set. */
export interface QueueSetLimits {
  /** Admits all requests, regardless of the seats in use. */
  readonly isExempt: boolean;
  /** Undefined = requests that do not fit are rejected (limit response Reject). */
  readonly queuing: QueuingSettings | undefined;
}

type RequestQueue = Queue<SeatRequest>;

/** Minimum interval in ms between charges for requests that exceed their estimated time. */
const minChargeIntervalMs = 5;

interface EnqueueLimits extends WaitLimits {
  readonly lengthLimit: number;
}

/**
 * Seats and queues of one priority level: Fair Queuing for Server Requests as in KEP-1040. The next
 * request is dispatched from the queue whose oldest request has the earliest virtual finish time.
 */
export class QueueSet implements RequestOwner {
  readonly accounts: SeatAccounts;
  readonly queues = new Queues();
  /** Executing requests that were not assigned to a queue. */
  readonly queueless = new RequestList<SeatRequest>();
  private readonly metrics: PriorityLevelMetrics;
  private readonly flows: Flows;
  private readonly retryAfter = new RetryAfter();
  private readonly meter: ProgressMeter;
  private isExempt = false;
  private queuing: QueuingSettings | undefined;
  private limit = 0;
  private isClosed = false;
  /** Seats in use by requests that were assigned to a queue. */
  private queuedSeatsInUse = 0;
  /** Seats in use by requests of more than one seat. */
  private wideSeatsInUse = 0;
  /** Monotonic time of the last charge for overdue requests, in ms. */
  private chargedAt = 0;
  private dispatchR = 0;
  private latestS = 0;

  constructor(private readonly parts: QueueSetParts) {
    this.accounts = new SeatAccounts(parts);
    this.metrics = parts.metrics;
    this.flows = new Flows(parts.metrics, parts.salt);
    this.meter = new ProgressMeter(parts.clock.monotonic());
    parts.metrics.observeProgress(() => this.progress());
  }

  get isIdle(): boolean {
    return this.accounts.requestsWaiting === 0 && this.accounts.requestsExecuting === 0;
  }

  /** Changes the queues. Waiting requests stay in theirs. */
  configure({ isExempt, queuing }: QueueSetLimits): void {
    const { queues, handSize } = this.queuing ?? { queues: 0, handSize: 0 };
    if (queues !== queuing?.queues || handSize !== queuing.handSize) this.flows.clearHands();
    this.isExempt = isExempt;
    this.queuing = queuing;
    this.queues.configure(queuing);
    const capacity = queuing === undefined ? 1 : queuing.queues * queuing.queueLengthLimit;
    this.metrics.waitingRequests.setDenominator(capacity, this.parts.clock.monotonic());
  }

  /** Changes the concurrency limit, and dispatches the requests that fit now. */
  setLimit(limit: number, denominator: number): void {
    const now = this.synchronize();
    this.limit = limit;
    this.metrics.executingRequests.setDenominator(denominator, now);
    this.metrics.executingSeats.setDenominator(denominator, now);
    this.metrics.seatDemand.setDenominator(denominator, now);
    this.dispatch(now);
  }

  start(request: FlowRequest, wait: WaitLimits): Awaitable<Admission | Rejection> {
    const now = this.synchronize();
    const { metrics } = this.flows.schema(request.flowSchema);
    const made = new SeatRequest(this, request, metrics, now);
    metrics.estimatedSeats(made.seats);
    if (this.queuing === undefined) return this.startWithoutQueue(made, now);
    const { flowSchema, flowDistinguisher } = request;
    const hand = this.flows.hand(flowSchema, flowDistinguisher, this.queuing);
    const queue = this.queues.choose(hand);
    if (this.accounts.requestsWaiting === 0 && this.limit > this.accounts.seatsInUse) {
      if (this.fits(made)) return this.dispatchImmediately(made, queue, now);
    }
    const lengthLimit = this.queuing.queueLengthLimit;
    const { signal, deadline } = wait;
    return this.enqueue(made, queue, { signal, deadline, lengthLimit });
  }

  /** Rejects all waiting requests as cancelled; later requests are not queued. */
  close(): void {
    this.isClosed = true;
    const now = this.synchronize();
    for (let queue = this.queues.next(); queue !== undefined; queue = this.queues.next()) {
      const request = queue.waiting.first;
      if (request !== undefined) this.eject(request, "cancelled", now);
    }
  }

  finish(request: SeatRequest): void {
    const now = this.synchronize();
    this.accounts.finished(request, now);
    const { queue } = request;
    if (queue === undefined) this.queueless.remove(request);
    else {
      const { initialSeats } = request.request.estimate;
      const lateness = now - request.startedAt - request.chargedMs;
      this.queues.finish(queue, request, seatsTimesDuration(initialSeats, lateness));
    }
    if (request.additionalLatency > 0) {
      request.phase = "lingering";
      request.dueAt = now + request.additionalLatency;
      this.parts.timers.start(request);
    } else this.vacate(request, now);
    this.dispatch(now);
    this.notifyIfIdle();
  }

  cancel(request: SeatRequest): void {
    const now = this.synchronize();
    this.eject(request, "cancelled", now);
    this.dispatch(now);
    this.notifyIfIdle();
  }

  elapse(request: SeatRequest): void {
    const now = this.synchronize();
    if (request.phase === "waiting") {
      this.eject(request, "time-out", now);
      this.dispatch(now);
      this.notifyIfIdle();
    } else if (request.phase === "lingering") {
      this.vacate(request, now);
      this.dispatch(now);
    }
  }

  private startWithoutQueue(request: SeatRequest, now: number): Admission | Rejection {
    if (!this.isExempt) {
      const fits = this.fits(request);
      request.metrics.waited(0, fits);
      if (!fits) return this.reject(request, "concurrency-limit", now);
    }
    this.queueless.append(request);
    this.admit(request, now);
    return request;
  }

  private dispatchImmediately(request: SeatRequest, queue: RequestQueue, now: number): Admission {
    request.queue = queue;
    request.metrics.queueLength(1);
    request.metrics.waited(0, true);
    request.limitFinalSeats(this.limit);
    this.dispatchR = this.meter.current;
    this.latestS = this.queues.dispatchImmediately(queue, request, this.meter.current);
    this.queuedSeatsInUse += request.seats;
    this.admit(request, now);
    return request;
  }

  /**
   * A full queue rejects, even while seats are free that the next request does not fit in; Kubernetes
   * lets the queue grow in that case.
   */
  private enqueue(
    request: SeatRequest,
    queue: RequestQueue,
    { signal, deadline, lengthLimit }: EnqueueLimits,
  ): Awaitable<Admission | Rejection> {
    const now = request.arrivedAt;
    const isCancelled = this.isClosed || signal.aborted;
    const reason = rejectionReason(queue, lengthLimit, { isCancelled, isLate: deadline <= now });
    if (reason !== undefined) {
      request.metrics.waited(0, false);
      return this.reject(request, reason, now);
    }
    request.queue = queue;
    request.phase = "waiting";
    request.dueAt = deadline;
    this.queues.enqueue(queue, request, this.meter.current);
    this.accounts.enqueued(request, now);
    request.metrics.queueLength(queue.waiting.length);
    this.parts.timers.start(request);
    const result = request.wait(signal);
    this.dispatch(now);
    return result;
  }

  private dispatch(now: number): void {
    if (this.accounts.requestsWaiting > 0 && now - this.chargedAt >= minChargeIntervalMs) {
      this.chargedAt = now;
      this.queues.chargeOverdue(now);
    }
    while (this.isExempt || this.accounts.seatsInUse < this.limit) {
      const queue = this.queues.next();
      const request = queue?.waiting.first;
      if (queue === undefined || request === undefined) return;
      if (request.dueAt <= now) this.eject(request, "time-out", now);
      else if (this.fits(request)) this.dispatchFrom(queue, request, now);
      else {
        request.metrics.notAccommodated();
        if (!this.dispatchNarrow(now)) return;
      }
    }
  }

  private dispatchFrom(queue: RequestQueue, request: SeatRequest, now: number): void {
    this.parts.timers.cancel(request);
    this.accounts.dequeued(request, now);
    request.limitFinalSeats(this.limit);
    this.dispatchR = this.meter.current;
    this.latestS = this.queues.dispatch(queue, request);
    this.queuedSeatsInUse += request.seats;
    request.waited = now - request.arrivedAt;
    request.metrics.waited(request.waited / 1000, true);
    this.admit(request, now);
    request.settle(request);
  }

  private admit(request: SeatRequest, now: number): void {
    request.phase = "executing";
    request.startedAt = now;
    if (request.seats > 1) this.wideSeatsInUse += request.seats;
    this.accounts.started(request, now);
  }

  /**
   * Whether the request's seats are free. A request wider than the limit executes alone. Wide requests
   * leave some seats to requests of one seat: long lists share one thread and finish at about the same
   * time, so that without this rule no seat might become free for seconds.
   */
  private fits({ seats }: SeatRequest): boolean {
    if (this.isExempt) return true;
    if (seats > this.limit) return this.accounts.requestsExecuting === 0;
    if (this.accounts.seatsInUse + seats > this.limit) return false;
    return (
      seats === 1 ||
      this.wideSeatsInUse + seats <= this.limit - reservedNarrowSeats(this.limit, seats)
    );
  }

  /**
   * Dispatches a request of one seat while the next request does not fit, within the seats reserved
   * for such requests, so that they do not starve the next one. Returns false if there is none.
   */
  private dispatchNarrow(now: number): boolean {
    const narrowSeats = this.accounts.seatsInUse - this.wideSeatsInUse;
    if (narrowSeats >= reservedNarrowSeats(this.limit, 1)) return false;
    let best: RequestQueue | undefined;
    for (const queue of this.queues.nonEmpty()) {
      if (queue.waiting.first?.seats !== 1) continue;
      if (best === undefined || queue.nextFinishR < best.nextFinishR) best = queue;
    }
    const request = best?.waiting.first;
    if (best === undefined || request === undefined) return false;
    this.dispatchFrom(best, request, now);
    return true;
  }

  private vacate(request: SeatRequest, now: number): void {
    request.phase = "done";
    if (request.seats > 1) this.wideSeatsInUse -= request.seats;
    this.accounts.vacated(request, now);
    if (request.queue !== undefined) {
      this.queuedSeatsInUse -= request.seats;
      this.queues.vacate(request.queue, request.seats);
    }
  }

  /** Removes a waiting request from its queue and rejects it. */
  private eject(request: SeatRequest, reason: "time-out" | "cancelled", now: number): void {
    const { queue } = request;
    assert(queue !== undefined && request.phase === "waiting", "the request waits in a queue");
    this.parts.timers.cancel(request);
    this.queues.eject(queue, request);
    this.accounts.dequeued(request, now);
    request.metrics.waited((now - request.arrivedAt) / 1000, false);
    request.settle(this.reject(request, reason, now));
  }

  private reject(request: SeatRequest, reason: RejectionReason, now: number): Rejection {
    request.phase = "done";
    this.accounts.rejectedFor(reason, now);
    request.metrics.rejected(reason);
    return { admitted: false, reason, retryAfter: this.retryAfter.reject(now) };
  }

  private notifyIfIdle(): void {
    if (this.isIdle) this.parts.onIdle();
  }

  /** Updates the progress meter; called before every change of requests or limits. */
  private synchronize(): number {
    const now = this.parts.clock.monotonic();
    const { active } = this.queues;
    const seats = active === 0 ? 0 : this.usableSeats() / active;
    if (this.meter.advance(now, seats)) {
      this.queues.rewind(epochWork);
      this.metrics.epochAdvanced(true);
    }
    return now;
  }

  /** Seats that the queues together can use now. */
  private usableSeats(): number {
    return Math.min(this.queuedSeatsInUse + this.accounts.seatsWaiting, this.limit);
  }

  private progress(): DispatchProgress {
    this.synchronize();
    const queues = this.queues.nonEmpty();
    const starts = queues.map(({ nextDispatchR }) => nextDispatchR);
    const discounted = queues.map(
      ({ nextDispatchR, seatsInUse }) =>
        nextDispatchR - seatsTimesDuration(seatsInUse, estimatedServiceMs),
    );
    return {
      currentR: toSeatSeconds(this.meter.current),
      dispatchR: toSeatSeconds(this.dispatchR),
      latestS: toSeatSeconds(this.latestS),
      nextS: bounds(starts),
      nextDiscountedS: bounds(discounted),
    };
  }
}

/** Seats that a wide request leaves to requests of one seat: a tenth of the limit if it still fits. */
function reservedNarrowSeats(limit: number, seats: number): number {
  return Math.min(Math.ceil(limit / 10), limit - seats);
}

function bounds(work: readonly number[]): readonly [min: number, max: number] | undefined {
  if (work.length === 0) return undefined;
  const least = work.reduce((a, b) => Math.min(a, b));
  const most = work.reduce((a, b) => Math.max(a, b));
  return [toSeatSeconds(least), toSeatSeconds(most)];
}

/** Reason for which a request cannot be queued; undefined if it can. */
function rejectionReason(
  queue: RequestQueue,
  lengthLimit: number,
  { isCancelled, isLate }: { readonly isCancelled: boolean; readonly isLate: boolean },
): RejectionReason | undefined {
  if (queue.waiting.length >= lengthLimit) return "queue-full";
  if (isCancelled) return "cancelled";
  return isLate ? "time-out" : undefined;
}
