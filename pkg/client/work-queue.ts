import { type Clock, realClock, plannedEnd } from "#base";
import { type Instruments, noInstruments } from "#request";
import { Backoff, TokenBucket } from "./rate-limits.ts";

export interface WorkQueueOptions {
  /** For figures and reports. */
  readonly name: string;
  readonly clock: Clock;
  /** Ends the queue: what waits is forgotten. */
  readonly signal: AbortSignal;
  readonly instruments?: Instruments;
  /** Told of work that failed and will be tried again. */
  readonly report: (what: string, error: unknown) => void;
  /** Delays after failures; default 5 ms, doubling up to 1000 s. */
  readonly delays?: { readonly firstMs: number; readonly longestMs: number };
}

/** Does the work of one key. Throwing means: again later. */
export type Work = (key: string) => Promise<void>;

/** A failure that is no news: the work is to be tried again after a time of its own. */
export class RequeueAfter extends Error {
  override readonly name = "RequeueAfter";
  constructor(
    message: string,
    /** Absent = as after any failure. */
    readonly afterMs?: number,
  ) {
    super(message);
  }
}

interface Delay {
  /** Monotonic time in milliseconds. */
  readonly at: number;
  /** Aborts to end the sleep. */
  readonly life: AbortController;
}

/** Longest sleep of a timer of Node, about 24 days. */
const longestSleepMs = 2 ** 31 - 1;
const usualDelays = { firstMs: 5, longestMs: 1_000_000 };
/** Rate limit of retries over all keys. */
const retryRate = { perSecond: 10, burst: 100 };
/** The first failures are often conflicts with others, which pass. */
const quietFailures = 3;

/**
 * Keys to work on, each at most once at a time: a key that is added while it is worked on is worked
 * on once more afterwards, and one that waits already waits no longer for being added again. Keys
 * that fail come back after delays that double, all together at a bounded rate.
 */
export class WorkQueue {
  /** In order of arrival, with the time of it in microseconds. */
  private readonly waiting = new Map<string, number>();
  private readonly atWork = new Map<string, number>();
  /** Added while they were at work. */
  private readonly dirty = new Set<string>();
  /** Keys that will be added later. */
  private readonly delayed = new Map<string, Delay>();
  private readonly idle: (() => void)[] = [];
  private readonly backoff: Backoff;
  private readonly bucket: TokenBucket;
  private readonly instruments: Instruments;
  private readonly labels: { readonly name: string };

  constructor(private readonly options: WorkQueueOptions) {
    const { name, clock, delays = usualDelays, instruments = noInstruments, signal } = options;
    this.backoff = new Backoff(delays);
    this.bucket = new TokenBucket(clock, retryRate);
    this.instruments = instruments;
    this.labels = { name };
    instruments.beforeRead(() => this.tellOfTheMoment());
    signal.addEventListener("abort", () => this.wakeAll(), { once: true });
  }

  add(key: string): void {
    if (this.options.signal.aborted || this.waiting.has(key)) return;
    if (this.atWork.has(key)) {
      this.dirty.add(key);
      return;
    }
    this.waiting.set(key, realClock(this.options.clock).monotonic());
    this.instruments.add("workqueue_adds_total", this.labels, 1);
    this.tellDepth();
    this.idle.shift()?.();
  }

  /**
   * Adds the key after a delay, or at the earlier time that it is already waiting for. After more
   * than 24 days it may be added early.
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
    const sleepMs = Math.min(delayMs, longestSleepMs);
    clock.sleep(sleepMs, life.signal, { background: true }).then(
      () => {
        this.delayed.delete(key);
        this.add(key);
      },
      () => undefined,
    );
  }

  /** Works until the signal aborts and what is at work is done. */
  async run(work: Work, { workers = 1 }: { readonly workers?: number } = {}): Promise<void> {
    const all = Array.from({ length: workers }, () => this.worker(work));
    await Promise.all(all);
  }

  private async worker(work: Work): Promise<void> {
    const { signal } = this.options;
    while (!signal.aborted) {
      const [first] = this.waiting;
      if (first === undefined) await new Promise<void>((resolve) => this.idle.push(resolve));
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
    this.atWork.set(key, began);
    this.tellDepth();
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
    this.atWork.delete(key);
    if (this.dirty.delete(key)) this.add(key);
  }

  private retry(key: string, error: unknown): void {
    const expected = error instanceof RequeueAfter;
    this.instruments.add("workqueue_retries_total", this.labels, 1);
    if (!expected && this.backoff.failed(key) >= quietFailures) {
      this.options.report(`${this.options.name}: ${key}`, error);
    }
    if (expected && error.afterMs !== undefined) this.addAfter(key, error.afterMs);
    else this.addAfter(key, Math.max(this.backoff.next(key), this.bucket.take()));
  }

  private wakeAll(): void {
    for (const wake of this.idle.splice(0)) wake();
    for (const { life } of this.delayed.values()) life.abort(plannedEnd);
    this.delayed.clear();
  }

  private tellDepth(): void {
    this.instruments.set("workqueue_depth", this.labels, this.waiting.size);
  }

  private tellOfTheMoment(): void {
    const now = realClock(this.options.clock).monotonic();
    const ages = [...this.atWork.values()].map((began) => (now - began) / 1000);
    const sum = ages.reduce((all, age) => all + age, 0);
    this.instruments.set("workqueue_unfinished_work_seconds", this.labels, sum);
    const longest = Math.max(0, ...ages);
    this.instruments.set("workqueue_longest_running_processor_seconds", this.labels, longest);
  }
}
