import type { Clock } from "#base";
import type { Backend, OnLoss } from "./backend.ts";
import type { AuditEvent } from "./event.ts";

export interface BatchOptions {
  /** Events that may wait; more are lost. */
  readonly bufferSize: number;
  /** Events that leave together. */
  readonly maxSize: number;
  /** Milliseconds after which a smaller batch leaves, too; 0 = at once. */
  readonly maxWaitMs: number;
  /** Batches per second, and how many may leave at once after a rest; absent = no bound. */
  readonly throttle?: { readonly perSecond: number; readonly burst: number } | undefined;
}

/** Bytes of bodies that may wait; events beyond that are lost. */
const mostBytes = 256 * 1024 * 1024;
/** Batches on their way at a time. */
const mostAtOnce = 32;

interface BatchParts {
  readonly clock: Clock;
  readonly onLoss: OnLoss;
}

/** Lets requests go on at once: events wait in memory until a batch is full or old enough. */
export class BufferedBackend implements Backend {
  private waiting: AuditEvent[] = [];
  private waitingBytes = 0;
  private readonly underWay = new Set<Promise<void>>();
  private timer: NodeJS.Timeout | undefined;
  private closed = false;
  private tokens: number;
  private refilled: number;

  constructor(
    private readonly next: Backend,
    private readonly options: BatchOptions,
    private readonly parts: BatchParts,
  ) {
    this.tokens = options.throttle?.burst ?? 0;
    this.refilled = parts.clock.monotonic();
  }

  write(events: readonly AuditEvent[]): undefined {
    for (const event of events) {
      const bytes = bodyBytes(event);
      const isFull = this.waiting.length >= this.options.bufferSize;
      if (this.closed || isFull || this.waitingBytes + bytes > mostBytes) {
        const story = this.closed ? "the server is shutting down" : "audit buffer queue blocked";
        this.parts.onLoss("buffered", new Error(story), 1);
        continue;
      }
      this.waiting.push(event);
      this.waitingBytes += bytes;
    }
    this.sendFull();
  }

  /** What waits still leaves, unthrottled. */
  async close(): Promise<void> {
    this.closed = true;
    clearTimeout(this.timer);
    while (this.waiting.length > 0) await this.send(this.take());
    await Promise.all(this.underWay);
    await this.next.close();
  }

  private sendFull(): void {
    if (this.closed) return;
    while (this.waiting.length >= this.options.maxSize) if (!this.sendOne()) return;
    if (this.waiting.length > 0 && this.timer === undefined) this.wake(this.options.maxWaitMs);
  }

  /** Comes back for what waits, full batch or not. */
  private wake(ms: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = undefined;
      if (this.waiting.length > 0 && this.sendOne()) this.sendFull();
    }, ms).unref();
  }

  /** False when a batch has to wait for the rate limit or for a batch in flight. */
  private sendOne(): boolean {
    if (this.underWay.size >= mostAtOnce) return false;
    const wait = this.untilTurn();
    if (wait > 0) this.wake(wait);
    else void this.send(this.take());
    return wait === 0;
  }

  private send(batch: readonly AuditEvent[]): Promise<void> {
    const sent = (this.next.write(batch) ?? Promise.resolve())
      // The backend has told of its loss.
      .catch(() => undefined)
      .finally(() => {
        this.underWay.delete(sent);
        this.sendFull();
      });
    this.underWay.add(sent);
    return sent;
  }

  private take(): readonly AuditEvent[] {
    const batch = this.waiting.splice(0, this.options.maxSize);
    for (const event of batch) this.waitingBytes -= bodyBytes(event);
    return batch;
  }

  /** Takes a token; milliseconds until there is one if there is none. */
  private untilTurn(): number {
    const { throttle } = this.options;
    if (throttle === undefined) return 0;
    const now = this.parts.clock.monotonic();
    const gained = ((now - this.refilled) / 1000) * throttle.perSecond;
    this.tokens = Math.min(throttle.burst, this.tokens + Math.max(0, gained));
    this.refilled = now;
    if (this.tokens < 1) return Math.ceil(((1 - this.tokens) / throttle.perSecond) * 1000);
    this.tokens -= 1;
    return 0;
  }
}

function bodyBytes({ requestObject = "", responseObject = "" }: AuditEvent): number {
  return requestObject.length + responseObject.length;
}
