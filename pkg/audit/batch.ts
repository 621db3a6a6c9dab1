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

/** Maximum length of buffered bodies in characters; excess events are dropped. */
const maxBufferedLength = 256 * 1024 * 1024;
/** Maximum number of concurrent batches. */
const maxConcurrent = 32;

interface BatchParts {
  readonly clock: Clock;
  readonly onLoss: OnLoss;
}

/** Backend of mode `batch`: buffers events until a batch is full or due, without delaying requests. */
export class BufferedBackend implements Backend {
  private buffer: AuditEvent[] = [];
  private bufferedLength = 0;
  private readonly inFlight = new Set<Promise<void>>();
  private timer: NodeJS.Timeout | undefined;
  private closed = false;
  /** Tokens of the rate limit, at the time of `refilledAt` (monotonic, in ms). */
  private tokens: number;
  private refilledAt: number;

  constructor(
    private readonly next: Backend,
    private readonly options: BatchOptions,
    private readonly parts: BatchParts,
  ) {
    this.tokens = options.throttle?.burst ?? 0;
    this.refilledAt = parts.clock.monotonic();
  }

  write(events: readonly AuditEvent[]): undefined {
    for (const event of events) {
      const length = bodyLength(event);
      const isFull = this.buffer.length >= this.options.bufferSize;
      if (this.closed || isFull || this.bufferedLength + length > maxBufferedLength) {
        const reason = this.closed ? "the server is shutting down" : "audit buffer queue blocked";
        this.parts.onLoss("buffered", new Error(reason), 1);
        continue;
      }
      this.buffer.push(event);
      this.bufferedLength += length;
    }
    this.sendFull();
  }

  /** Sends all buffered events without throttling. */
  async close(): Promise<void> {
    this.closed = true;
    clearTimeout(this.timer);
    while (this.buffer.length > 0) await this.send(this.take());
    await Promise.all(this.inFlight);
    await this.next.close();
  }

  /** Sends full batches, and schedules a flush of the rest. */
  private sendFull(): void {
    if (this.closed) return;
    while (this.buffer.length >= this.options.maxSize) if (!this.trySend()) return;
    if (this.buffer.length > 0 && this.timer === undefined)
      this.scheduleFlush(this.options.maxWaitMs);
  }

  /** Schedules a flush, also of an incomplete batch. */
  private scheduleFlush(ms: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = undefined;
      if (this.buffer.length > 0 && this.trySend()) this.sendFull();
    }, ms).unref();
  }

  /** Sends a batch; returns false if it must wait for the rate limit or another batch. */
  private trySend(): boolean {
    if (this.inFlight.size >= maxConcurrent) return false;
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
        this.inFlight.delete(sent);
        this.sendFull();
      });
    this.inFlight.add(sent);
    return sent;
  }

  /** Removes a batch from the buffer. */
  private take(): readonly AuditEvent[] {
    const batch = this.buffer.splice(0, this.options.maxSize);
    for (const event of batch) this.bufferedLength -= bodyLength(event);
    return batch;
  }

  /** Takes a token of the rate limit; returns the milliseconds until the next one if there is none. */
  private takeToken(): number {
    const { throttle } = this.options;
    if (throttle === undefined) return 0;
    const now = this.parts.clock.monotonic();
    const refill = ((now - this.refilledAt) / 1000) * throttle.perSecond;
    this.tokens = Math.min(throttle.burst, this.tokens + Math.max(0, refill));
    this.refilledAt = now;
    if (this.tokens < 1) return Math.ceil(((1 - this.tokens) / throttle.perSecond) * 1000);
    this.tokens -= 1;
    return 0;
  }
}

function bodyLength({ requestObject = "", responseObject = "" }: AuditEvent): number {
  return requestObject.length + responseObject.length;
}
