/** Bounds of Retry-After, as in Kubernetes. */
const minSeconds = 1;
const maxSeconds = 32;

interface Second {
  readonly at: number;
  count: number;
}

/**
 * Adapts Retry-After to the rate of rejections over the last `seconds`: doubles it at three or more per
 * second, and lowers it by one below one per second.
 */
export class RetryAfter {
  private seconds = minSeconds;
  private raisedAt = -Infinity;
  /** Rejections by second, oldest first; the last one is incomplete. */
  private history: Second[] = [];

  /** Counts a rejection at `now` in ms; returns Retry-After in seconds. */
  reject(now: number): number {
    const at = Math.floor(now / 1000);
    const current = this.history.at(-1);
    if (current?.at === at) current.count++;
    else this.startSecond(at);
    return this.seconds;
  }

  private startSecond(at: number): void {
    const recent = this.history.filter((second) => at - second.at <= this.seconds);
    const rejections = recent.reduce((sum, { count }) => sum + count, 0);
    if (rejections >= 3 * this.seconds && at - this.raisedAt >= this.seconds) {
      this.seconds = Math.min(maxSeconds, 2 * this.seconds);
      this.raisedAt = at;
    } else if (rejections < this.seconds && this.seconds > minSeconds) this.seconds--;
    this.history = [
      ...this.history.filter((second) => at - second.at <= maxSeconds),
      { at, count: 1 },
    ];
  }
}
