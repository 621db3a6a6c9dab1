import type { Clock } from "#base";

interface Timer {
  /** Monotonic time in milliseconds. */
  readonly at: number;
  readonly key: string;
}

/** Maximum delay of a Node.js timer, about 24 days. */
const maxSleepMs = 2 ** 31 - 1;

/**
 * Calls `fire` with keys at their times: a binary heap of timers with a single sleep of the clock, so that
 * 100,000 keys cost two numbers each. A key has at most one timer; setting it replaces the previous one.
 */
export class TimerHeap {
  private readonly heap: Timer[] = [];
  /** Current timer of each key; other timers in the heap are skipped. */
  private readonly current = new Map<string, Timer>();
  private sleeping: { readonly at: number; readonly life: AbortController } | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly signal: AbortSignal,
    private readonly fire: (key: string) => void,
    /** Whether a virtual clock may fire the keys late; see `SleepOptions`. */
    private readonly coalesce = false,
  ) {
    signal.addEventListener("abort", () => this.sleeping?.life.abort(), { once: true });
  }

  /** Number of keys with a timer. */
  get size(): number {
    return this.current.size;
  }

  /** Fires the key at the monotonic time `at`; replaces its previous timer. */
  set(key: string, at: number): void {
    if (this.current.get(key)?.at === at) return;
    const timer = { at, key };
    this.current.set(key, timer);
    this.push(timer);
    this.arm();
  }

  clear(key: string): void {
    this.current.delete(key);
  }

  private arm(): void {
    const [first] = this.heap;
    if (first === undefined || this.signal.aborted) return;
    if (this.sleeping !== undefined && this.sleeping.at <= first.at) return;
    this.sleeping?.life.abort();
    const life = new AbortController();
    this.sleeping = { at: first.at, life };
    const ms = Math.min(Math.max(first.at - this.clock.monotonic(), 0), maxSleepMs);
    const { coalesce } = this;
    this.clock.sleep(ms, life.signal, { background: true, coalesce }).then(
      () => {
        this.sleeping = undefined;
        this.due();
        this.arm();
      },
      () => undefined,
    );
  }

  private due(): void {
    const now = this.clock.monotonic();
    for (let first = this.heap[0]; first !== undefined && first.at <= now; first = this.heap[0]) {
      this.pop();
      if (this.current.get(first.key) !== first) continue;
      this.current.delete(first.key);
      this.fire(first.key);
    }
  }

  private push(timer: Timer): void {
    const { heap } = this;
    let at = heap.push(timer) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (heap[parent]!.at <= timer.at) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = timer;
  }

  private pop(): void {
    const { heap } = this;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && heap[child + 1]!.at < heap[child]!.at) child++;
      if (heap[child]!.at >= last.at) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
  }
}
