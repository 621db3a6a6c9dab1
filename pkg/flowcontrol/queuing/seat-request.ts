import type { Admission, FlowMetrics, FlowRequest, Rejection } from "../contract.ts";
import type { Linked } from "./request-list.ts";
import { durationPerSeat, seatsTimesDuration } from "./seat-seconds.ts";
import type { Timed } from "./timers.ts";
import type { Queue } from "./queue.ts";

/** Estimated execution time in ms of every request, as in Kubernetes; corrected when it finishes. */
export const estimatedServiceMs = 3;

/** Events of a request, handled by the queue set. */
export interface RequestOwner {
  /** The request has finished executing. */
  finish(request: SeatRequest): void;
  /** The client of a waiting request disconnected. */
  cancel(request: SeatRequest): void;
  /** The deadline of a waiting request passed, or the final phase of a lingering one ended. */
  elapse(request: SeatRequest): void;
}

interface Wait {
  readonly signal: AbortSignal;
  readonly resolve: (result: Admission | Rejection) => void;
}

/**
 * State of a request: new → waiting → executing → lingering (final phase) → done. It is itself the
 * element of lists, heap and timers, and the Admission, so that a request costs one allocation.
 */
export class SeatRequest implements Admission, Timed, Linked<SeatRequest> {
  readonly admitted = true;
  waited = 0;
  phase: "new" | "waiting" | "executing" | "lingering" | "done" = "new";
  /** Seats occupied in both phases: the larger of initial and final seats. */
  seats: number;
  finalSeats: number;
  additionalLatency: number;
  /** In units of seat-seconds.ts. */
  readonly totalWork: number;
  /** Undefined at levels without queues. */
  queue: Queue<SeatRequest> | undefined;
  /** R at arrival. */
  arrivalR = 0;
  /** Monotonic time of dispatch in ms; 0 before. */
  startedAt = 0;
  /** Execution time in ms for which the queue has been charged. */
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
    /** Monotonic time of arrival in ms. */
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
   * Reduces final seats to the level's limit and extends the final phase, so that the work stays the
   * same.
   */
  limitFinalSeats(levelLimit: number): void {
    const limit = Math.max(1, levelLimit);
    if (this.finalSeats <= limit) return;
    const finalWork = seatsTimesDuration(this.finalSeats, this.additionalLatency);
    this.finalSeats = limit;
    this.additionalLatency = durationPerSeat(finalWork, limit);
    this.seats = Math.max(this.request.estimate.initialSeats, limit);
  }

  /** Returns the work of the execution time not charged so far, and marks it as charged. */
  charge(now: number): number {
    const elapsed = now - this.startedAt;
    if (elapsed <= this.chargedMs) return 0;
    const work = seatsTimesDuration(this.request.estimate.initialSeats, elapsed - this.chargedMs);
    this.chargedMs = elapsed;
    return work;
  }

  /** A promise that `settle` resolves; an abort of the signal cancels the request. */
  wait(signal: AbortSignal): Promise<Admission | Rejection> {
    signal.addEventListener("abort", this);
    return new Promise((resolve) => {
      this.waiting = { signal, resolve };
    });
  }

  /** Resolves the promise of `wait`; does nothing if the request was not queued. */
  settle(result: Admission | Rejection): void {
    this.waiting?.signal.removeEventListener("abort", this);
    this.waiting?.resolve(result);
    this.waiting = undefined;
  }

  /** EventListener of the signal's "abort". */
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
