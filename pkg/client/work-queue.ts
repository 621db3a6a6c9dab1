import { type Clock, realClock, plannedEnd } from "#base";
import { type Instruments, noInstruments } from "#request";
import { Backoff, TokenBucket } from "./rate-limits.ts";

export interface WorkQueueOptions {
  /** Name for metrics and reports. */
  readonly name: string;
  readonly clock: Clock;
  /** Aborts to stop the queue: waiting keys are dropped. */
  readonly signal: AbortSignal;
  readonly instruments?: Instruments;
  /** Called for failures that will be retried. */
  readonly report: (what: string, error: unknown) => void;
  /** Delays after failures; default 5 ms, doubling up to 1000 s. */
  readonly delays?: { readonly firstMs: number; readonly maxMs: number };
}

/** Processes one key. An exception requeues it with backoff. */
export type Work = (key: string) => Promise<void>;

/** An expected failure, which is not reported; the key is requeued. */
export class RequeueAfter extends Error {
  override readonly name = "RequeueAfter";
  constructor(
    message: string,
    /** Delay in ms; absent = backoff as for other failures. */
    readonly afterMs?: number,
  ) {
    super(message);
  }
}

interface Delay {
  /** Monotonic time in milliseconds. */
  readonly at: number;
  /** Aborts to cancel the sleep. */
  readonly life: AbortController;
}

/** Maximum delay of Node's timers, about 24 days. */
const maxSleepMs = 2 ** 31 - 1;
const defaultDelays = { firstMs: 5, maxMs: 1_000_000 };
/** Rate limit of retries over all keys. */
const retryRate = { perSecond: 10, burst: 100 };
/** Number of consecutive failures that are not reported, as the first are often conflicts. */
const unreportedFailures = 3;

/**
 * Work queue with client-go's semantics: a key is processed by one worker at a time; a key that is added
 * while it is processed is processed once more afterwards, and duplicates of waiting keys are dropped.
 * Failed keys are requeued with exponential backoff and a rate limit over all keys.
 */
export class WorkQueue {
  /** Monotonic time of addition in ms by key, in order of addition. */
  private readonly waiting = new Map<string, number>();
  private readonly processing = new Map<string, number>();
  /** Keys that were added while they were processed. */
  private readonly dirty = new Set<string>();
  /** Keys with a pending `addAfter`. */
  private readonly delayed = new Map<string, Delay>();
  private readonly idleWorkers: (() => void)[] = [];
  private readonly backoff: Backoff;
  private readonly bucket: TokenBucket;
  private readonly instruments: Instruments;
  private readonly labels: { readonly name: string };

  constructor(private readonly options: WorkQueueOptions) {
    const { name, clock, delays = defaultDelays, instruments = noInstruments, signal } = options;
    this.backoff = new Backoff(delays);
    this.bucket = new TokenBucket(clock, retryRate);
    this.instruments = instruments;
    this.labels = { name };
    instruments.beforeRead(() => this.updateUnfinishedWork());
    signal.addEventListener("abort", () => this.stop(), { once: true });
  }

  add(key: string): void {
    if (this.options.signal.aborted || this.waiting.has(key)) return;
    if (this.processing.has(key)) {
      this.dirty.add(key);
      return;
    }
    this.waiting.set(key, realClock(this.options.clock).monotonic());
    this.instruments.add("workqueue_adds_total", this.labels, 1);
    this.updateDepth();
    this.idleWorkers.shift()?.();
  }

  /**
   * Adds the key after a delay, or at the time of an earlier pending `addAfter`. Delays are capped at 24
   * days.
   */
  addAfter(key: string, delayMs: number): void {
    if (delayMs <= 0) return this.add(key);
    const { clock, signal } = this.options;
    if (signal.aborted) return;
    const at = clock.monotonic() + delayMs;
    const known = this.delayed.get(key);
    if (known !== undefined && known.at <= at) return;
    known?.life.abort(plannedEnd);
    const life = new AbortController();
    this.delayed.set(key, { at, life });
    const sleepMs = Math.min(delayMs, maxSleepMs);
    clock.sleep(sleepMs, life.signal, { background: true }).then(
      () => {
        this.delayed.delete(key);
        this.add(key);
      },
      () => undefined,
    );
  }

  /** Processes keys until the signal has aborted and the keys in processing are done. */
  async run(work: Work, { workers = 1 }: { readonly workers?: number } = {}): Promise<void> {
    const all = Array.from({ length: workers }, () => this.worker(work));
    await Promise.all(all);
  }

  private async worker(work: Work): Promise<void> {
    const { signal } = this.options;
    while (!signal.aborted) {
      const [first] = this.waiting;
      if (first === undefined) await new Promise<void>((resolve) => this.idleWorkers.push(resolve));
      else await this.attempt(first[0], work);
    }
  }

  private async attempt(key: string, work: Work): Promise<void> {
    const { name, signal } = this.options;
    const clock = realClock(this.options.clock);
    this.options.clock.note?.(`syncs of ${name}`);
    const began = clock.monotonic();
    const arrived = this.waiting.get(key) ?? began;
    this.waiting.delete(key);
    this.processing.set(key, began);
    this.updateDepth();
    const queued = (began - arrived) / 1000;
    this.instruments.observe("workqueue_queue_duration_seconds", this.labels, queued);
    try {
      await work(key);
      this.backoff.forget(key);
    } catch (error) {
      if (!signal.aborted) this.retry(key, error);
    }
    const worked = (clock.monotonic() - began) / 1000;
    this.instruments.observe("workqueue_work_duration_seconds", this.labels, worked);
    this.processing.delete(key);
    if (this.dirty.delete(key)) this.add(key);
  }

  private retry(key: string, error: unknown): void {
    const expected = error instanceof RequeueAfter;
    this.instruments.add("workqueue_retries_total", this.labels, 1);
    if (!expected && this.backoff.failed(key) >= unreportedFailures) {
      this.options.report(`${this.options.name}: ${key}`, error);
    }
    if (expected && error.afterMs !== undefined) this.addAfter(key, error.afterMs);
    else this.addAfter(key, Math.max(this.backoff.next(key), this.bucket.reserve()));
  }

  private stop(): void {
    for (const wake of this.idleWorkers.splice(0)) wake();
    for (const { life } of this.delayed.values()) life.abort(plannedEnd);
    this.delayed.clear();
  }

  private updateDepth(): void {
    this.instruments.set("workqueue_depth", this.labels, this.waiting.size);
  }

  private updateUnfinishedWork(): void {
    const now = realClock(this.options.clock).monotonic();
    const ages = [...this.processing.values()].map((began) => (now - began) / 1000);
    const sum = ages.reduce((all, age) => all + age, 0);
    this.instruments.set("workqueue_unfinished_work_seconds", this.labels, sum);
    const longest = Math.max(0, ...ages);
    this.instruments.set("workqueue_longest_running_processor_seconds", this.labels, longest);
  }
}
