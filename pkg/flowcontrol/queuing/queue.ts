import { type Linked, RequestList } from "./request-list.ts";

/** What a queue knows of its requests. */
export interface Queued<T> extends Linked<T> {
  readonly seats: number;
  readonly totalWork: number;
  /** R at arrival; a request is not dispatched in virtual time before it arrived. */
  arrivalR: number;
}

/** One queue of a priority level. Work is in units of seat-seconds.ts. */
export class Queue<T extends Queued<T>> {
  readonly waiting = new RequestList<T>();
  /** Requests from this queue that execute; those in their final phase do not count. */
  readonly executing = new RequestList<T>();
  /** Seats of the executing and the lingering requests. */
  seatsInUse = 0;
  /** Work of all waiting requests. */
  waitingWork = 0;
  /** R at which the next request is dispatched in virtual time. */
  nextDispatchR = 0;
  /** Number of the last dispatch from this queue: ties go to the queue that waited longest. */
  lastDispatch = 0;
  heapIndex = -1;

  constructor(readonly index: number) {}

  get isIdle(): boolean {
    return this.waiting.length === 0 && this.executing.length === 0;
  }

  /** Virtual finish of the oldest waiting request. */
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

  /** Moves the next dispatch by work done; negative if a request finished sooner than estimated. */
  advance(work: number): void {
    this.nextDispatchR += work;
    this.boundNextDispatch();
  }

  /** Turns the progress meter back by `work`, for all that was read from it. */
  rewind(work: number): void {
    this.nextDispatchR = this.isIdle ? 0 : this.nextDispatchR - work;
    for (const request of this.waiting) request.arrivalR -= work;
  }

  /** Prevents windup: a queue that used less than its share does not save it up. */
  private boundNextDispatch(): void {
    const oldest = this.waiting.first;
    if (oldest !== undefined && this.nextDispatchR < oldest.arrivalR) {
      this.nextDispatchR = oldest.arrivalR;
    }
  }
}
