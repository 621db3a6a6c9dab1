import type { QueuedPod } from "../framework/contract.ts";
import { Heap } from "./heap.ts";

export interface BackoffTimes {
  readonly initialMs: number;
  readonly maxMs: number;
}

/** Pods whose backoff expires in the same window are in queue-sort order. */
const windowMs = 1_000;

/**
 * Pods in backoff. When the active queue is empty, unschedulable pods may be popped before their backoff
 * expires; pods whose attempt failed with an error may not.
 */
export class BackoffQueue {
  private readonly unfit: Heap<QueuedPod>;
  private readonly failed: Heap<QueuedPod>;

  constructor(
    private readonly times: BackoffTimes,
    keyOf: (pod: QueuedPod) => string,
    less: (a: QueuedPod, b: QueuedPod) => boolean,
  ) {
    const earlier = (a: QueuedPod, b: QueuedPod) => {
      const left = this.expiryOf(a);
      const right = this.expiryOf(b);
      return left === right ? less(a, b) : left < right;
    };
    this.unfit = new Heap(keyOf, earlier);
    this.failed = new Heap(keyOf, earlier);
  }

  *values(): Iterable<QueuedPod> {
    yield* this.unfit.values();
    yield* this.failed.values();
  }

  get size(): number {
    return this.unfit.size + this.failed.size;
  }

  get(key: string): QueuedPod | undefined {
    return this.unfit.get(key) ?? this.failed.get(key);
  }

  set(pod: QueuedPod): void {
    if (pod.consecutiveErrors > 0) this.failed.set(pod);
    else this.unfit.set(pod);
  }

  delete(key: string): QueuedPod | undefined {
    return this.unfit.delete(key) ?? this.failed.delete(key);
  }

  /** Pops the next unschedulable pod, even before its backoff expires. */
  popUnfit(): QueuedPod | undefined {
    return this.unfit.pop();
  }

  popExpired(now: number): QueuedPod | undefined {
    for (const heap of [this.unfit, this.failed]) {
      const first = heap.peek();
      if (first !== undefined && this.expiryOf(first) <= now) return heap.pop();
    }
    return undefined;
  }

  isBackingOff(pod: QueuedPod, now: number): boolean {
    return this.expiryOf(pod) > now;
  }

  /** Expiry of the backoff, rounded down to the window. */
  private expiryOf(pod: QueuedPod): number {
    const count = pod.consecutiveErrors > 0 ? pod.consecutiveErrors : pod.unschedulableCount;
    if (count === 0) return 0;
    const { initialMs, maxMs } = this.times;
    const durationMs = Math.min(initialMs * 2 ** Math.min(count - 1, 40), maxMs);
    const end = pod.timestamp + durationMs;
    return end - (end % windowMs);
  }
}
