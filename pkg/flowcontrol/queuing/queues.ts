import type { QueuingSettings } from "../contract.ts";
import { IndexedHeap } from "./indexed-heap.ts";
import { Queue } from "./queue.ts";
import type { SeatRequest } from "./seat-request.ts";

type RequestQueue = Queue<SeatRequest>;

/** Idle queues beyond this number are dropped: a level may have ten million queues. */
const keptQueues = 1024;

/**
 * The queues of a priority level, made when they are first used. A queue whose index is beyond the
 * configured number gets no more requests and goes when it is empty.
 */
export class Queues {
  /** Queues with requests that wait or execute. */
  active = 0;
  private settings: QueuingSettings | undefined;
  private readonly queues = new Map<number, RequestQueue>();
  /** Queues with waiting requests: least virtual finish first, ties in turn. */
  private readonly waiting = new IndexedHeap<RequestQueue>(isBefore);
  private enqueues = 0;
  private dispatches = 0;

  configure(settings: QueuingSettings | undefined): void {
    this.settings = settings;
    for (const queue of this.queues.values()) this.dropIfUnwanted(queue);
  }

  get count(): number {
    return this.settings?.queues ?? 0;
  }

  /**
   * The queue of the hand with the least waiting work. Ties go to each in turn, so that flows whose
   * hands overlap find no queue preferred.
   */
  choose(hand: readonly number[]): RequestQueue {
    const offset = this.enqueues++ % hand.length;
    let best = hand[offset] as number;
    let leastWork = this.waitingWork(best);
    for (let step = 1; step < hand.length && leastWork > 0; step++) {
      const index = hand[(offset + step) % hand.length] as number;
      const work = this.waitingWork(index);
      if (work >= leastWork) continue;
      best = index;
      leastWork = work;
    }
    return this.at(best);
  }

  /** The queue whose oldest waiting request is to be dispatched next. */
  next(): RequestQueue | undefined {
    return this.waiting.first();
  }

  /**
   * Appends a request that arrives at R = `currentR`. It counts as arrived with the progress of the
   * queue that is next, if that is behind R: R assumes that all seats are used, but wide requests
   * leave some idle, and a queue that just became active must not wait until all have caught up.
   */
  enqueue(queue: RequestQueue, request: SeatRequest, currentR: number): void {
    const next = this.waiting.first();
    const arrivalR = next === undefined ? currentR : Math.min(currentR, next.nextDispatchR);
    this.activate(queue, arrivalR);
    request.arrivalR = arrivalR;
    queue.append(request);
    this.waiting.place(queue);
  }

  /** Removes a waiting request that is not dispatched. */
  eject(queue: RequestQueue, request: SeatRequest): void {
    queue.remove(request);
    this.reorder(queue);
    this.deactivateIfIdle(queue);
  }

  /** Moves the oldest waiting request to the executing ones. @returns its virtual start. */
  dispatch(queue: RequestQueue, request: SeatRequest): number {
    queue.remove(request);
    const start = this.execute(queue, request);
    this.reorder(queue);
    return start;
  }

  /** Dispatches a request at its arrival, as `enqueue` and `dispatch` do together. */
  dispatchAtOnce(queue: RequestQueue, request: SeatRequest, currentR: number): number {
    this.activate(queue, currentR);
    request.arrivalR = currentR;
    if (queue.nextDispatchR < currentR) queue.nextDispatchR = currentR;
    return this.execute(queue, request);
  }

  /** The request ended execution and took `lateness` more work than estimated (or less: < 0). */
  finish(queue: RequestQueue, request: SeatRequest, lateness: number): void {
    queue.executing.remove(request);
    queue.advance(lateness);
    this.reorder(queue);
    this.deactivateIfIdle(queue);
  }

  /**
   * Charges queues for executing requests that take longer than estimated, as far as that has not
   * been done. Kubernetes does so when a request finishes; until then, a queue whose requests take
   * long seems to have had little and gets seats before one that just became active.
   */
  chargeOverdue(now: number): void {
    for (const queue of this.queues.values()) {
      let work = 0;
      for (const request of queue.executing) work += request.charge(now);
      if (work === 0) continue;
      queue.advance(work);
      this.reorder(queue);
    }
  }

  /** The request's seats are free. */
  vacate(queue: RequestQueue, seats: number): void {
    queue.seatsInUse -= seats;
    if (queue.isIdle) this.dropIfUnwanted(queue);
  }

  /** Turns the progress meter back by `work`, for all that was read from it. */
  rewind(work: number): void {
    for (const queue of this.queues.values()) queue.rewind(work);
  }

  /** Queues that exist, by index. */
  all(): readonly RequestQueue[] {
    return [...this.queues.values()].sort((a, b) => a.index - b.index);
  }

  /** Queues with waiting requests, in no particular order. */
  nonEmpty(): readonly RequestQueue[] {
    return this.waiting.values();
  }

  private waitingWork(index: number): number {
    return this.queues.get(index)?.waitingWork ?? 0;
  }

  private at(index: number): RequestQueue {
    const known = this.queues.get(index);
    if (known !== undefined) return known;
    const made: RequestQueue = new Queue(index);
    this.queues.set(index, made);
    return made;
  }

  private execute(queue: RequestQueue, request: SeatRequest): number {
    const start = queue.nextDispatchR;
    queue.executing.append(request);
    queue.seatsInUse += request.seats;
    queue.lastDispatch = ++this.dispatches;
    queue.advance(request.totalWork);
    return start;
  }

  private activate(queue: RequestQueue, currentR: number): void {
    if (!queue.isIdle) return;
    this.active++;
    // What it was charged for still counts where the progress of others stands still.
    if (queue.nextDispatchR < currentR) queue.nextDispatchR = currentR;
  }

  private deactivateIfIdle(queue: RequestQueue): void {
    if (!queue.isIdle) return;
    this.active--;
    this.dropIfUnwanted(queue);
  }

  private reorder(queue: RequestQueue): void {
    if (queue.waiting.length > 0) this.waiting.place(queue);
    else this.waiting.remove(queue);
  }

  private dropIfUnwanted(queue: RequestQueue): void {
    if (queue.index < this.count && this.queues.size <= keptQueues) return;
    if (queue.isIdle && queue.seatsInUse === 0) this.queues.delete(queue.index);
  }
}

function isBefore(a: RequestQueue, b: RequestQueue): boolean {
  const finishA = a.nextFinishR;
  const finishB = b.nextFinishR;
  if (finishA !== finishB) return finishA < finishB;
  return a.lastDispatch === b.lastDispatch ? a.index < b.index : a.lastDispatch < b.lastDispatch;
}
