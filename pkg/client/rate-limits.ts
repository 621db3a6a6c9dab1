import { assert, type Clock } from "#base";

/** Token bucket: a long-term rate per second, with bursts. */
export class TokenBucket {
  private tokens: number;
  private filledAt: number;

  constructor(
    private readonly clock: Clock,
    private readonly rate: { readonly perSecond: number; readonly burst: number },
  ) {
    assert(rate.perSecond > 0 && rate.burst >= 1, "the rate is positive");
    this.tokens = rate.burst;
    this.filledAt = clock.monotonic();
  }

  /** Takes a token, possibly a future one; returns the time in ms until it is available. */
  reserve(): number {
    this.fill();
    this.tokens -= 1;
    return this.tokens >= 0 ? 0 : Math.ceil((-this.tokens / this.rate.perSecond) * 1000);
  }

  /** Takes a token if one is available; returns whether it was. */
  tryTake(): boolean {
    this.fill();
    if (this.tokens < 1) return false;
    this.tokens -= 1;
    return true;
  }

  private fill(): void {
    const now = this.clock.monotonic();
    const passed = (now - this.filledAt) / 1000;
    this.filledAt = now;
    this.tokens = Math.min(this.rate.burst, this.tokens + passed * this.rate.perSecond);
  }
}

/** Exponential backoff per key. */
export class Backoff {
  private readonly failures = new Map<string, number>();

  constructor(private readonly limits: { readonly firstMs: number; readonly maxMs: number }) {}

  /** Counts a failure; returns the delay in ms until the next attempt. */
  next(key: string): number {
    const failed = this.failures.get(key) ?? 0;
    this.failures.set(key, failed + 1);
    const { firstMs, maxMs } = this.limits;
    return Math.min(maxMs, firstMs * 2 ** Math.min(failed, 50));
  }

  failed(key: string): number {
    return this.failures.get(key) ?? 0;
  }

  forget(key: string): void {
    this.failures.delete(key);
  }
}
