import { type Clock, plannedEnd } from "#base";
import { type HeapElement, IndexedHeap } from "./indexed-heap.ts";

/** A timer of the monotonic clock. */
export interface Timed extends HeapElement {
  /** In ms of `Clock.monotonic()`. */
  dueAt: number;
  due(now: number): void;
}

/** Multiplexes any number of timers onto one clock sleep. They do not keep the process alive. */
export class Timers {
  private readonly heap = new IndexedHeap<Timed>((a, b) => a.dueAt < b.dueAt);
  private wakeUpAt = Infinity;
  private sleep: AbortController | undefined;
  private isClosed = false;

  constructor(private readonly clock: Clock) {}

  /** Starts or restarts the timer; a `dueAt` of Infinity stops it. */
  start(timer: Timed): void {
    if (this.isClosed) return timer.due(this.clock.monotonic());
    if (timer.dueAt === Infinity) this.heap.remove(timer);
    else this.heap.place(timer);
    this.arm();
  }

  cancel(timer: Timed): void {
    this.heap.remove(timer);
  }

  /** Fires all timers now; timers that are started later fire immediately. */
  close(): void {
    this.isClosed = true;
    this.sleep?.abort(plannedEnd);
    this.expire(Infinity);
  }

  /** Shortens the sleep if necessary, but never extends it: canceling a timer costs no new sleep. */
  private arm(): void {
    const dueAt = this.heap.first()?.dueAt ?? Infinity;
    if (dueAt >= this.wakeUpAt) return;
    this.sleep?.abort(plannedEnd);
    const sleep = new AbortController();
    this.sleep = sleep;
    this.wakeUpAt = dueAt;
    const ms = Math.max(0, Math.ceil(dueAt - this.clock.monotonic()));
    this.clock.sleep(ms, sleep.signal, { background: true }).then(
      () => this.wake(sleep),
      (error: unknown) => {
        if (!sleep.signal.aborted) throw error;
      },
    );
  }

  private wake(sleep: AbortController): void {
    if (sleep !== this.sleep) return;
    this.sleep = undefined;
    this.wakeUpAt = Infinity;
    this.expire(this.clock.monotonic());
    this.arm();
  }

  private expire(until: number): void {
    const now = this.clock.monotonic();
    for (let next = this.heap.first(); next !== undefined; next = this.heap.first()) {
      if (next.dueAt > until) break;
      this.heap.remove(next);
      next.due(now);
    }
  }
}
