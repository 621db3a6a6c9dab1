import type { Clock } from "#base";
import type { Backend, OnLoss } from "./backend.ts";
import type { AuditEvent } from "./event.ts";

export interface BatchOptions {
  /** Maximum number of buffered events; excess ones are dropped. */
  readonly bufferSize: number;
  /** Maximum number of events per batch. */
  readonly maxSize: number;
  /** Maximum time in ms before an incomplete batch is sent; 0 = immediately. */
  readonly maxWaitMs: number;
  /** Rate limit and burst of batches; undefined = none. */
  readonly throttle?: { readonly perSecond: number; readonly burst: number } | undefined;
}

/** Maximum bytes of buffered bodies; excess events are dropped. */
const maxBytes = 256 * 1024 * 1024;
/** Maximum number of concurrent batches. */
const maxConcurrent = 32;

interface BatchParts {
  readonly clock: Clock;
  readonly onLoss: OnLoss;
}

/** Backend of mode `batch`: buffers events until a batch is full or due, without delaying requests. */
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
      if (this.closed || isFull || this.waitingBytes + bytes > maxBytes) {
        const story = this.closed ? "the server is shutting down" : "audit buffer queue blocked";
        this.parts.onLoss("buffered", new Error(story), 1);
        continue;
      }
      this.waiting.push(event);
      this.waitingBytes += bytes;
    }
    this.sendFull();
  }

  /** Sends all buffered events without throttling. */
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
    if (this.waiting.length > 0 && this.timer === undefined)
      this.scheduleFlush(this.options.maxWaitMs);
  }

  /** Schedules a flush, also of an incomplete batch. */
  private scheduleFlush(ms: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = undefined;
      if (this.waiting.length > 0 && this.sendOne()) this.sendFull();
    }, ms).unref();
  }

  /** Sends a batch; returns false if it must wait for the rate limit or another batch. */
  private sendOne(): boolean {
    if (this.underWay.size >= maxConcurrent) return false;
    const wait = this.takeToken();
    if (wait > 0) this.scheduleFlush(wait);
    else void this.send(this.take());
    return wait === 0;
  }

  private send(batch: readonly AuditEvent[]): Promise<void> {
    const sent = (this.next.write(batch) ?? Promise.resolve())
      // The backend has reported the loss.
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

  /** Takes a token of the rate limit; returns the milliseconds until the next one if there is none. */
  private takeToken(): number {
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
