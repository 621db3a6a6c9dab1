/** Bounds of Retry-After in seconds, as in Kubernetes. */
const least = 1;
const most = 32;

interface Second {
  readonly at: number;
  count: number;
}

/**
 * Chooses Retry-After by the rejections of the last seconds: doubles it when there were at least
 * three per second of the current value, and lowers it by one when there was less than one.
 */
export class RetryAfter {
  private seconds = least;
  private raisedAt = -Infinity;
  /** Rejections by second, oldest first; the last one is still going on. */
  private history: Second[] = [];

  /** Notes a rejection. @param now in ms. @returns the value for it, in seconds. */
  reject(now: number): number {
    const at = Math.floor(now / 1000);
    const current = this.history.at(-1);
    if (current?.at === at) current.count++;
    else this.begin(at);
    return this.seconds;
  }

  private begin(at: number): void {
    const recent = this.history.filter((second) => at - second.at <= this.seconds);
    const rejections = recent.reduce((sum, { count }) => sum + count, 0);
    if (rejections >= 3 * this.seconds && at - this.raisedAt >= this.seconds) {
      this.seconds = Math.min(most, 2 * this.seconds);
      this.raisedAt = at;
    } else if (rejections < this.seconds && this.seconds > least) this.seconds--;
    this.history = [...this.history.filter((second) => at - second.at <= most), { at, count: 1 }];
  }
}
