import type { QueuingSettings } from "../contract.ts";
import { IndexedHeap } from "./indexed-heap.ts";
import { Queue } from "./queue.ts";
import type { SeatRequest } from "./seat-request.ts";

type RequestQueue = Queue<SeatRequest>;

/** Number of queues above which idle ones are deleted: a level may have ten million. */
const maxIdleQueues = 1024;

/**
 * The queues of a priority level, created on first use. A queue whose index is beyond the configured
 * number receives no more requests and is deleted when empty.
 */
export class Queues {
  /** Number of queues with waiting or executing requests. */
  active = 0;
  private settings: QueuingSettings | undefined;
  private readonly queues = new Map<number, RequestQueue>();
  /** Queues with waiting requests by virtual finish, then least recently dispatched. */
  private readonly waiting = new IndexedHeap<RequestQueue>(isBefore);
  private enqueues = 0;
  private dispatches = 0;

  configure(settings: QueuingSettings | undefined): void {
    this.settings = settings;
    for (const queue of this.queues.values()) this.deleteIfUnused(queue);
  }

  get count(): number {
    return this.settings?.queues ?? 0;
  }

  /**
   * The queue of the hand with the least waiting work. Ties are broken round-robin, so that flows whose
   * hands overlap do not all prefer the same queue.
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
    return this.queueAt(best);
  }

  /** The queue to dispatch from next. */
  next(): RequestQueue | undefined {
    return this.waiting.first();
  }

  /**
   * Appends a request that arrives at `currentR`. Its arrival is set to the virtual start of the next
   * queue if that is smaller: R assumes that all seats are used, but wide requests leave some idle, and
   * a queue that just became active must not wait until all others have caught up with R.
   */
  enqueue(queue: RequestQueue, request: SeatRequest, currentR: number): void {
    const next = this.waiting.first();
    const arrivalR = next === undefined ? currentR : Math.min(currentR, next.nextDispatchR);
    this.activate(queue, arrivalR);
    request.arrivalR = arrivalR;
    queue.append(request);
    this.waiting.place(queue);
  }

  /** Removes a waiting request without dispatching it. */
  eject(queue: RequestQueue, request: SeatRequest): void {
    queue.remove(request);
    this.reorder(queue);
    this.deactivateIfIdle(queue);
  }

  /** Dispatches the oldest waiting request; returns its virtual start. */
  dispatch(queue: RequestQueue, request: SeatRequest): number {
    queue.remove(request);
    const start = this.execute(queue, request);
    this.reorder(queue);
    return start;
  }

  /** Dispatches a request on arrival: `enqueue` and `dispatch` in one step. */
  dispatchImmediately(queue: RequestQueue, request: SeatRequest, currentR: number): number {
    this.activate(queue, currentR);
    request.arrivalR = currentR;
    if (queue.nextDispatchR < currentR) queue.nextDispatchR = currentR;
    return this.execute(queue, request);
  }

  /** Ends the execution of a request, which took `lateness` more work than estimated (or < 0: less). */
  finish(queue: RequestQueue, request: SeatRequest, lateness: number): void {
    queue.executing.remove(request);
    queue.advance(lateness);
    this.reorder(queue);
    this.deactivateIfIdle(queue);
  }

  /**
   * Charges queues for executing requests that exceed their estimated time. Kubernetes charges only when
   * a request finishes; until then, a queue of slow requests appears to have used little and would be
   * preferred to a queue that just became active.
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

  /** Releases the seats of a request. */
  vacate(queue: RequestQueue, seats: number): void {
    queue.seatsInUse -= seats;
    if (queue.isIdle) this.deleteIfUnused(queue);
  }

  /** Lowers all stored values of R by `work` at a new epoch. */
  rewind(work: number): void {
    for (const queue of this.queues.values()) queue.rewind(work);
  }

  /** The created queues, sorted by index. */
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

  private queueAt(index: number): RequestQueue {
    const existing = this.queues.get(index);
    if (existing !== undefined) return existing;
    const queue: RequestQueue = new Queue(index);
    this.queues.set(index, queue);
    return queue;
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
    // Earlier charges remain if they exceed R, which may not have advanced since.
    if (queue.nextDispatchR < currentR) queue.nextDispatchR = currentR;
  }

  private deactivateIfIdle(queue: RequestQueue): void {
    if (!queue.isIdle) return;
    this.active--;
    this.deleteIfUnused(queue);
  }

  private reorder(queue: RequestQueue): void {
    if (queue.waiting.length > 0) this.waiting.place(queue);
    else this.waiting.remove(queue);
  }

  private deleteIfUnused(queue: RequestQueue): void {
    if (queue.index < this.count && this.queues.size <= maxIdleQueues) return;
    if (queue.isIdle && queue.seatsInUse === 0) this.queues.delete(queue.index);
  }
}

function isBefore(a: RequestQueue, b: RequestQueue): boolean {
  const finishA = a.nextFinishR;
  const finishB = b.nextFinishR;
  if (finishA !== finishB) return finishA < finishB;
  return a.lastDispatch === b.lastDispatch ? a.index < b.index : a.lastDispatch < b.lastDispatch;
}
