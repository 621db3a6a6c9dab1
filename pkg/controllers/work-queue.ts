import type { Clock } from "#base";

const firstRetryMs = 20;
const longestRetryMs = 10_000;

export interface WorkQueueOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Does the work of one key; throwing means: try again later. */
  readonly work: (key: string) => Promise<void>;
  readonly report: (what: string, error: unknown) => void;
}

/**
 * Keys to work on, each at most once at a time: a key added while it is worked on is worked on
 * again
 * afterwards. Failures are retried with delays that double from 20 ms to 10 s.
 */
export class WorkQueue {
  private readonly waiting = new Set<string>();
  private readonly failures = new Map<string, number>();
  private wake: (() => void) | undefined;

  constructor(private readonly options: WorkQueueOptions) {}

  add(key: string): void {
    this.waiting.add(key);
    this.wake?.();
  }

  /** Works until the signal aborts. */
  async run(): Promise<void> {
    const { signal } = this.options;
    const stop = () => this.wake?.();
    signal.addEventListener("abort", stop, { once: true });
    while (!signal.aborted) {
      const [key] = this.waiting;
      if (key === undefined) await new Promise<void>((resolve) => (this.wake = resolve));
      else await this.attempt(key);
    }
    signal.removeEventListener("abort", stop);
  }

  private async attempt(key: string): Promise<void> {
    this.waiting.delete(key);
    try {
      await this.options.work(key);
      this.failures.delete(key);
    } catch (error) {
      if (this.options.signal.aborted) return;
      const failed = this.failures.get(key) ?? 0;
      this.failures.set(key, failed + 1);
      if (failed > 3) this.options.report(key, error);
      this.retry(key, Math.min(longestRetryMs, firstRetryMs * 2 ** failed));
    }
  }

  private retry(key: string, delayMs: number): void {
    const { clock, signal } = this.options;
    clock.sleep(delayMs, signal).then(
      () => this.add(key),
      () => undefined,
    );
  }
}
