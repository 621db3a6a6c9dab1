import type { Admission, FlowMetrics, FlowRequest, Rejection } from "../contract.ts";
import type { Linked } from "./request-list.ts";
import { durationPerSeat, seatsTimesDuration } from "./seat-seconds.ts";
import type { Timed } from "./timers.ts";
import type { Queue } from "./queue.ts";

/** Service time in ms that fair queuing assumes until a request has finished, as in Kubernetes. */
export const estimatedServiceMs = 3;

/** What the set of queues does for its requests. */
export interface RequestOwner {
  /** The request has finished execution. */
  finish(request: SeatRequest): void;
  /** The client of a waiting request left. */
  cancel(request: SeatRequest): void;
  /** The deadline of a waiting request passed, or the final phase of a lingering one ended. */
  elapse(request: SeatRequest): void;
}

interface Wait {
  readonly signal: AbortSignal;
  readonly resolve: (result: Admission | Rejection) => void;
}

/**
 * A request on its way: new → waiting → executing → lingering (final phase) → done. Lists, heap and
 * timers link it directly, so that an admission allocates this object only.
 */
export class SeatRequest implements Admission, Timed, Linked<SeatRequest> {
  readonly admitted = true;
  waited = 0;
  phase: "new" | "waiting" | "executing" | "lingering" | "done" = "new";
  /** Seats that it occupies in both phases: the larger of initial and final seats. */
  seats: number;
  finalSeats: number;
  additionalLatency: number;
  /** In units of seat-seconds.ts. */
  readonly totalWork: number;
  /** Undefined at levels without queues. */
  queue: Queue<SeatRequest> | undefined;
  /** R at arrival. */
  arrivalR = 0;
  /** Monotonic time in ms; 0 while it has not started. */
  startedAt = 0;
  /** Execution time in ms that its queue has been charged for. */
  chargedMs = estimatedServiceMs;
  dueAt = Infinity;
  heapIndex = -1;
  previous: SeatRequest | undefined;
  next: SeatRequest | undefined;
  private waiting: Wait | undefined;

  constructor(
    private readonly owner: RequestOwner,
    readonly request: FlowRequest,
    readonly metrics: FlowMetrics,
    /** Monotonic time in ms. */
    readonly arrivedAt: number,
  ) {
    const { initialSeats, finalSeats, additionalLatency } = request.estimate;
    this.seats = initialSeats > finalSeats ? initialSeats : finalSeats;
    this.finalSeats = finalSeats;
    this.additionalLatency = additionalLatency;
    const initialWork = seatsTimesDuration(initialSeats, estimatedServiceMs);
    this.totalWork =
      additionalLatency > 0
        ? initialWork + seatsTimesDuration(finalSeats, additionalLatency)
        : initialWork;
  }

  get isMutating(): boolean {
    const { verb } = this.request.info;
    return verb !== "get" && verb !== "list" && verb !== "watch";
  }

  /**
   * Reduces final seats that exceed the level's limit; the final phase takes longer instead, so
   * that the work stays the same.
   */
  limitFinalSeats(levelLimit: number): void {
    const limit = Math.max(1, levelLimit);
    if (this.finalSeats <= limit) return;
    const finalWork = seatsTimesDuration(this.finalSeats, this.additionalLatency);
    this.finalSeats = limit;
    this.additionalLatency = durationPerSeat(finalWork, limit);
    this.seats = Math.max(this.request.estimate.initialSeats, limit);
  }

  /** Work of the execution time that its queue has not been charged for; 0 if it is early. */
  charge(now: number): number {
    const elapsed = now - this.startedAt;
    if (elapsed <= this.chargedMs) return 0;
    const work = seatsTimesDuration(this.request.estimate.initialSeats, elapsed - this.chargedMs);
    this.chargedMs = elapsed;
    return work;
  }

  /** Waits for `settle`, the deadline or the client's departure. */
  wait(signal: AbortSignal): Promise<Admission | Rejection> {
    signal.addEventListener("abort", this);
    return new Promise((resolve) => {
      this.waiting = { signal, resolve };
    });
  }

  /** Ends the wait; does nothing if the request never waited. */
  settle(result: Admission | Rejection): void {
    this.waiting?.signal.removeEventListener("abort", this);
    this.waiting?.resolve(result);
    this.waiting = undefined;
  }

  /** The signal aborted. */
  handleEvent(): void {
    if (this.phase === "waiting") this.owner.cancel(this);
  }

  due(): void {
    this.owner.elapse(this);
  }

  release(): void {
    if (this.phase === "executing") this.owner.finish(this);
  }
}
