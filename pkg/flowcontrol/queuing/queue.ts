import { type Linked, RequestList } from "./request-list.ts";

/** A request in a queue. */
export interface Queued<T> extends Linked<T> {
  readonly seats: number;
  readonly totalWork: number;
  /** R at arrival, a lower bound of the virtual start. */
  arrivalR: number;
}

/** One queue of a priority level. Work is in units of seat-seconds.ts. */
export class Queue<T extends Queued<T>> {
  readonly waiting = new RequestList<T>();
  /** Executing requests of this queue, without those in their final phase. */
  readonly executing = new RequestList<T>();
  /** Seats of the executing and the lingering requests. */
  seatsInUse = 0;
  /** Work of all waiting requests. */
  waitingWork = 0;
  /** R at the virtual start of the next request. */
  nextDispatchR = 0;
  /** Sequence number of the last dispatch from this queue, which breaks ties of virtual finish. */
  lastDispatch = 0;
  heapIndex = -1;

  constructor(readonly index: number) {}

  get isIdle(): boolean {
    return this.waiting.length === 0 && this.executing.length === 0;
  }

  /** R at the virtual finish of the oldest waiting request. */
  get nextFinishR(): number {
    return this.nextDispatchR + (this.waiting.first?.totalWork ?? 0);
  }

  append(request: T): void {
    this.waiting.append(request);
    this.waitingWork += request.totalWork;
    this.boundNextDispatch();
  }

  /** Removes a waiting request. */
  remove(request: T): void {
    this.waiting.remove(request);
    this.waitingWork -= request.totalWork;
    this.boundNextDispatch();
  }

  /** Shifts the next virtual start by work; negative if a request finished sooner than estimated. */
  advance(work: number): void {
    this.nextDispatchR += work;
    this.boundNextDispatch();
  }

  /** Lowers all stored values of R by `work` at a new epoch. */
  rewind(work: number): void {
    this.nextDispatchR = this.isIdle ? 0 : this.nextDispatchR - work;
    for (const request of this.waiting) request.arrivalR -= work;
  }

  /** Prevents windup: an unused share is not credited to the future. */
  private boundNextDispatch(): void {
    const oldest = this.waiting.first;
    if (oldest !== undefined && this.nextDispatchR < oldest.arrivalR) {
      this.nextDispatchR = oldest.arrivalR;
    }
  }
}
