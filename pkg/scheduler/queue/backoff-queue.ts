import type { QueuedPod } from "../framework/contract.ts";
import { Heap } from "./heap.ts";

export interface BackoffTimes {
  readonly initialMs: number;
  readonly maxMs: number;
}

/** Pods whose backoff ends within the same window are ordered by the queue sort. */
const windowMs = 1_000;

/**
 * Pods that wait after a failed attempt. Pods that did not fit may be tried before their backoff
 * ends when nothing else is to be done; pods whose attempt ended with an error may not.
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

  /** The next pod that did not fit, whether or not its backoff has ended. */
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

  /** End of the backoff, at the start of its window. */
  private expiryOf(pod: QueuedPod): number {
    const count = pod.consecutiveErrors > 0 ? pod.consecutiveErrors : pod.unschedulableCount;
    if (count === 0) return 0;
    const { initialMs, maxMs } = this.times;
    const durationMs = Math.min(initialMs * 2 ** Math.min(count - 1, 40), maxMs);
    const end = pod.timestamp + durationMs;
    return end - (end % windowMs);
  }
}
